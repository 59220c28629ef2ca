/* Piper's JSON (github.com/msr-fiddle/piper, README.md): of every layer the ways to run it, by the number of devices
 * that share its tensors ("TMPCs"). Taken is the plain one on one device. Its memory is memoryUsageA for each
 * micro-batch in flight and memoryUsageB besides; what an edge transfers stands at the edge.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "planner/cost/cost_file_formats.h"

typedef struct piper_edge {
    uint32_t from, to;
    int64_t bytes;
} piper_edge;

/* The first "vanilla" one, or the first. */
static ons_status *choose(const ons_json *node, const ons_json **way) {
    const ons_json *ways, *alone, *each;
    ONS_TRY(ons_json_get_object(node, "TMPCs", &ways));
    ONS_TRY_AT(ons_json_get_array(ways, "1", &alone), "TMPCs");
    *way = alone->child;
    ONS_CHECK(*way != NULL, ONS_INVALID_DATA, "TMPCs.1: empty");
    cJSON_ArrayForEach(each, alone) {
        const ons_json *id = ons_json_find(each, "id");
        if (!cJSON_IsString(id) || strcmp(id->valuestring, "vanilla") != 0) continue;
        *way = each;
        break;
    }
    return NULL;
}

static ons_status *get_size(const ons_json *object, const char *name, int64_t *bytes) {
    double value;
    ONS_TRY(ons_json_get_double(object, name, &value));
    ONS_CHECK(ons_cost_file_to_bytes(value, bytes), ONS_INVALID_DATA, "'%s' is negative, not finite or over 2^53 bytes",
              name);
    return NULL;
}

static int64_t clamp(int64_t value, int64_t most) { return value < 0 ? 0 : value < most ? value : most; }

/* What is stashed for the backward part: a tensor that nobody else reads. */
static ons_status *add_saved(ons_workload *work, ons_arena *arena, uint32_t node, int64_t bytes) {
    if (bytes == 0) return NULL;
    uint32_t *self;
    ons_work_tensor *t = &work->tensors[work->tensor_count++];
    ONS_NEW(self, arena, 1);
    *self = node;
    *t = (ons_work_tensor){.bytes = bytes, .producer = node, .savers = self, .saver_count = 1};
    t->name = ons_arena_format(arena, "%s:saved", work->nodes[node].name);
    return t->name == NULL ? ons_status_out_of_memory() : NULL;
}

/* memoryUsageB holds weight, gradient and whatever the optimiser keeps, in this order. */
static ons_status *add_weight(ons_workload *work, ons_arena *arena, uint32_t node, int64_t bytes, int64_t fixed) {
    if (bytes == 0 && fixed == 0) return NULL;
    uint32_t *self;
    ONS_NEW(self, arena, 1);
    *self = node;
    int64_t gradient = clamp(fixed - bytes, bytes), state = clamp(fixed - bytes - gradient, fixed);
    work->weights[work->weight_count++] = (ons_work_weight){work->nodes[node].name, bytes, gradient, state, self, 1};
    return NULL;
}

static ons_status *read_node(const ons_json *json, ons_arena *arena, ons_map *ids, ons_workload *work, uint32_t index) {
    const ons_json *way;
    const char *kind;
    int64_t id, parameters, saved, fixed;
    double seconds;
    ons_work_node *node = &work->nodes[index];
    ONS_TRY(ons_json_get_int(json, "id", &id));
    char *key = ons_arena_format(arena, "%lld", (long long)id);
    if (key == NULL) return ons_status_out_of_memory();
    ONS_CHECK(ons_map_get(ids, key) == ONS_MAP_ABSENT, ONS_INVALID_DATA, "a second node with id %s", key);
    ONS_TRY(ons_map_set(ids, key, index));
    const ons_json *name = ons_json_find(json, "name");
    kind = cJSON_IsString(name) ? name->valuestring : "layer";
    node->kind = ons_arena_copy_text(arena, kind);
    node->name = ons_arena_format(arena, "%s.%s", key, kind); /* names repeat, ids do not */
    if (node->kind == NULL || node->name == NULL) return ons_status_out_of_memory();
    ONS_TRY(choose(json, &way));
    ONS_TRY(ons_json_get_double(way, "timePerSample", &seconds));
    ONS_CHECK(ons_cost_file_is_time(seconds), ONS_INVALID_DATA, "'timePerSample' is negative or not finite");
    ONS_TRY(get_size(way, "parameterSize", &parameters));
    ONS_TRY(get_size(way, "memoryUsageA", &saved));
    ONS_TRY(get_size(way, "memoryUsageB", &fixed));
    node->recomputable = true;
    node->forward_seconds = seconds / 3; /* backward: twice the operations of forward */
    node->weight_gradient_seconds = parameters > 0 ? seconds / 3 : 0;
    node->input_gradient_seconds = seconds - node->forward_seconds - node->weight_gradient_seconds;
    ONS_TRY(add_saved(work, arena, index, saved));
    return add_weight(work, arena, index, parameters, fixed);
}

static ons_status *find_node(const ons_json *edge, const char *name, const ons_map *ids, uint32_t *node) {
    int64_t id;
    char key[32];
    ONS_TRY(ons_json_get_int(edge, name, &id));
    (void)snprintf(key, sizeof key, "%lld", (long long)id);
    *node = ons_map_get(ids, key);
    ONS_CHECK(*node != ONS_MAP_ABSENT, ONS_INVALID_DATA, "'%s' is %s, but there is no such node", name, key);
    return NULL;
}

static ons_status *read_edge(const ons_json *json, const ons_map *ids, const ons_workload *work, piper_edge *edge) {
    ONS_TRY(find_node(json, "sourceId", ids, &edge->from));
    ONS_TRY(find_node(json, "destId", ids, &edge->to));
    ONS_CHECK(edge->from != edge->to, ONS_INVALID_DATA, "node '%s' reads its own result", work->nodes[edge->from].name);
    return get_size(json, "communicationCost", &edge->bytes);
}

static int compare_edges(const void *a, const void *b) {
    const piper_edge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Edges from one node that transfer as much are taken for one result with several readers. */
static ons_status *add_results(ons_workload *work, ons_arena *arena, piper_edge *edges, uint32_t count) {
    uint32_t *readers;
    ONS_NEW(readers, arena, (size_t)count + 1);
    qsort(edges, count, sizeof *edges, compare_edges);
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first;
             end < count && edges[end].from == edges[first].from && edges[end].bytes == edges[first].bytes;)
            readers[end] = edges[end].to, ++end;
        work->tensors[work->tensor_count++] = (ons_work_tensor){.name = work->nodes[edges[first].from].name,
                                                                .bytes = edges[first].bytes,
                                                                .gradient_bytes = edges[first].bytes,
                                                                .producer = edges[first].from,
                                                                .readers = readers + first,
                                                                .reader_count = end - first};
    }
    return NULL;
}

static ons_status *read_all(const ons_json *json, ons_arena *arena, ons_map *ids, ons_workload *work) {
    const ons_json *nodes, *edges, *each;
    piper_edge *list;
    uint32_t index = 0;
    ONS_TRY(ons_json_get_array(json, "nodes", &nodes));
    ONS_TRY(ons_json_get_array(json, "edges", &edges));
    size_t node_count = (size_t)cJSON_GetArraySize(nodes), edge_count = (size_t)cJSON_GetArraySize(edges);
    ONS_CHECK(node_count > 0, ONS_INVALID_DATA, "'nodes' is empty");
    ONS_NEW(work->nodes, arena, node_count);
    ONS_NEW(work->tensors, arena, node_count + edge_count);
    ONS_NEW(work->weights, arena, node_count);
    ONS_NEW(list, arena, edge_count + 1);
    work->node_count = (uint32_t)node_count;
    work->samples = 1;
    cJSON_ArrayForEach(each, nodes) {
        ONS_TRY_AT(read_node(each, arena, ids, work, index), "nodes[%u]", index);
        ++index;
    }
    index = 0;
    cJSON_ArrayForEach(each, edges) {
        ONS_TRY_AT(read_edge(each, ids, work, &list[index]), "edges[%u]", index);
        ++index;
    }
    ONS_TRY(add_results(work, arena, list, index));
    return ons_cost_file_layer_each(work, arena);
}

ons_status *ons_cost_file_read_piper(const ons_json *json, ons_arena *arena, ons_workload *work) {
    ons_map ids = {0};
    ons_status *status = read_all(json, arena, &ids, work);
    ons_map_free(&ids);
    return status;
}
