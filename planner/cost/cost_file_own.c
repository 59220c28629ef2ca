/* onstage's own cost graph, docs/cost_graph.md and docs/cost_graph.schema.json. */
#include "base/map.h"
#include "planner/cost/cost_file.h"
#include "planner/cost/cost_file_formats.h"

typedef struct own_reader {
    ons_arena *arena;
    ons_map nodes, layers;
    ons_workload *work;
} own_reader;

/* ---------------------------------------------------------------------------------------------------------- reading */

/* A name with a typing error would silently mean its default. */
static ons_status *check_members(const ons_json *object, const char *const *known) {
    ONS_CHECK(cJSON_IsObject(object), ONS_INVALID_DATA, "an object is expected");
    const ons_json *each;
    cJSON_ArrayForEach(each, object) {
        bool found = false;
        for (const char *const *name = known; *name != NULL && !found; ++name) found = strcmp(*name, each->string) == 0;
        ONS_CHECK(found, ONS_INVALID_DATA, "there is no member '%s' in a cost graph of version %d", each->string,
                  ONS_COST_FILE_VERSION);
    }
    return NULL;
}

static ons_status *get_name(const ons_json *object, ons_arena *arena, const char **name) {
    ONS_TRY(ons_json_copy_text(object, "name", arena, name));
    ONS_CHECK((*name)[0] != '\0', ONS_INVALID_DATA, "'name' is empty");
    return NULL;
}

/* A member that is not there keeps the value given. */
static ons_status *get_text(const ons_json *object, const char *name, ons_arena *arena, const char **value) {
    return ons_json_find(object, name) == NULL ? NULL : ons_json_copy_text(object, name, arena, value);
}

static ons_status *get_time(const ons_json *object, const char *name, double *seconds) {
    if (ons_json_find(object, name) == NULL) return NULL;
    ONS_TRY(ons_json_get_double(object, name, seconds));
    ONS_CHECK(ons_cost_file_is_time(*seconds), ONS_INVALID_DATA, "'%s' is negative or not finite", name);
    return NULL;
}

static ons_status *get_size(const ons_json *object, const char *name, int64_t *bytes) {
    if (ons_json_find(object, name) == NULL) return NULL;
    ONS_TRY(ons_json_get_int(object, name, bytes));
    ONS_CHECK(*bytes >= 0, ONS_INVALID_DATA, "'%s' is negative", name);
    return NULL;
}

/* Nodes that name the same layer are one; who names none names itself. */
static ons_status *read_layer(own_reader *r, const ons_json *json, ons_work_node *node) {
    const char *name = node->name;
    ONS_TRY(get_text(json, "layer", r->arena, &name));
    node->layer = ons_map_get(&r->layers, name);
    if (node->layer != ONS_MAP_ABSENT) return NULL;
    node->layer = r->work->layer_count;
    r->work->layers[r->work->layer_count++].name = name;
    return ons_map_set(&r->layers, name, node->layer);
}

static ons_status *read_node(own_reader *r, const ons_json *json, uint32_t index) {
    static const char *const known[] = {"name",
                                        "kind",
                                        "layer",
                                        "forward_seconds",
                                        "input_gradient_seconds",
                                        "weight_gradient_seconds",
                                        "late_weight_seconds",
                                        "update_seconds",
                                        "forward_bytes",
                                        "backward_bytes",
                                        "recomputable",
                                        NULL};
    ons_work_node *node = &r->work->nodes[index];
    ONS_TRY(check_members(json, known));
    ONS_TRY(get_name(json, r->arena, &node->name));
    ONS_CHECK(ons_map_get(&r->nodes, node->name) == ONS_MAP_ABSENT, ONS_INVALID_DATA, "a second node '%s'", node->name);
    ONS_TRY(ons_map_set(&r->nodes, node->name, index));
    node->kind = "";
    node->recomputable = true;
    ONS_TRY(get_text(json, "kind", r->arena, &node->kind));
    ONS_TRY(read_layer(r, json, node));
    ONS_CHECK(ons_json_find(json, "forward_seconds") != NULL, ONS_INVALID_DATA, "'forward_seconds' is missing");
    ONS_TRY(get_time(json, "forward_seconds", &node->forward_seconds));
    ONS_TRY(get_time(json, "input_gradient_seconds", &node->input_gradient_seconds));
    ONS_TRY(get_time(json, "weight_gradient_seconds", &node->weight_gradient_seconds));
    ONS_TRY(get_time(json, "late_weight_seconds", &node->late_weight_seconds));
    ONS_TRY(get_time(json, "update_seconds", &node->update_seconds));
    ONS_TRY(get_size(json, "forward_bytes", &node->forward_bytes));
    ONS_TRY(get_size(json, "backward_bytes", &node->backward_bytes));
    if (ons_json_find(json, "recomputable") == NULL) return NULL;
    return ons_json_get_bool(json, "recomputable", &node->recomputable);
}

static ons_status *find_node(const own_reader *r, const ons_json *name, const char *what, uint32_t *node) {
    ONS_CHECK(cJSON_IsString(name), ONS_INVALID_DATA, "'%s' does not name a node", what);
    *node = ons_map_get(&r->nodes, name->valuestring);
    ONS_CHECK(*node != ONS_MAP_ABSENT, ONS_INVALID_DATA, "'%s' names '%s', but there is no such node", what,
              name->valuestring);
    return NULL;
}

static ons_status *get_nodes(const own_reader *r, const ons_json *json, const char *member, const uint32_t **nodes,
                             uint32_t *count) {
    const ons_json *list, *each;
    uint32_t *found;
    *count = 0;
    *nodes = NULL;
    if (ons_json_find(json, member) == NULL) return NULL;
    ONS_TRY(ons_json_get_array(json, member, &list));
    ONS_NEW(found, r->arena, (size_t)cJSON_GetArraySize(list) + 1);
    cJSON_ArrayForEach(each, list) ONS_TRY(find_node(r, each, member, &found[(*count)++]));
    *nodes = found;
    return NULL;
}

static ons_status *read_producer(const own_reader *r, const ons_json *json, ons_work_tensor *t) {
    const ons_json *producer = ons_json_find(json, "producer");
    ONS_CHECK(producer != NULL, ONS_INVALID_DATA, "'producer' is missing: a node, or null for data");
    t->producer = ONS_NO_NODE;
    return cJSON_IsNull(producer) ? NULL : find_node(r, producer, "producer", &t->producer);
}

static ons_status *read_tensor(own_reader *r, const ons_json *json, uint32_t index) {
    static const char *const known[] = {"name", "bytes", "gradient_bytes", "producer", "readers", "savers", NULL};
    ons_work_tensor *t = &r->work->tensors[index];
    ONS_TRY(check_members(json, known));
    ONS_TRY(get_name(json, r->arena, &t->name));
    ONS_CHECK(ons_json_find(json, "bytes") != NULL, ONS_INVALID_DATA, "'bytes' is missing");
    ONS_TRY(get_size(json, "bytes", &t->bytes));
    ONS_TRY(read_producer(r, json, t));
    bool outside = t->producer == ONS_NO_NODE;
    t->gradient_bytes = outside ? 0 : t->bytes;
    ONS_TRY(get_size(json, "gradient_bytes", &t->gradient_bytes));
    ONS_TRY(get_nodes(r, json, "readers", &t->readers, &t->reader_count));
    ONS_TRY(get_nodes(r, json, "savers", &t->savers, &t->saver_count));
    for (uint32_t i = 0; i < t->reader_count; ++i)
        ONS_CHECK(t->readers[i] != t->producer, ONS_INVALID_DATA, "its producer is among its readers");
    if (ons_json_find(json, "savers") != NULL || outside) return NULL;
    uint32_t *self;
    ONS_NEW(self, r->arena, 1);
    *self = t->producer;
    t->savers = self;
    t->saver_count = 1;
    return NULL;
}

static ons_status *read_weight(own_reader *r, const ons_json *json, uint32_t index) {
    static const char *const known[] = {"name", "bytes", "gradient_bytes", "state_bytes", "users", NULL};
    ons_work_weight *w = &r->work->weights[index];
    ONS_TRY(check_members(json, known));
    ONS_TRY(get_name(json, r->arena, &w->name));
    ONS_CHECK(ons_json_find(json, "bytes") != NULL, ONS_INVALID_DATA, "'bytes' is missing");
    ONS_TRY(get_size(json, "bytes", &w->bytes));
    w->gradient_bytes = w->bytes;
    ONS_TRY(get_size(json, "gradient_bytes", &w->gradient_bytes));
    ONS_TRY(get_size(json, "state_bytes", &w->state_bytes));
    ONS_TRY(get_nodes(r, json, "users", &w->users, &w->user_count));
    ONS_CHECK(w->user_count > 0, ONS_INVALID_DATA, "'users' is missing or empty");
    return NULL;
}

typedef ons_status *read_item(own_reader *r, const ons_json *json, uint32_t index);

static ons_status *read_items(own_reader *r, const ons_json *list, const char *name, read_item *read) {
    const ons_json *each;
    uint32_t index = 0;
    cJSON_ArrayForEach(each, list) {
        ONS_TRY_AT(read(r, each, index), "%s[%u]", name, index);
        ++index;
    }
    return NULL;
}

static ons_status *check_version(const ons_json *json) {
    int64_t version;
    ONS_TRY(ons_json_get_int(json, "onstage_cost_graph", &version));
    ONS_CHECK(version == ONS_COST_FILE_VERSION, ONS_INVALID_DATA,
              "'onstage_cost_graph' is %lld; this version reads %d alone", (long long)version, ONS_COST_FILE_VERSION);
    return NULL;
}

static ons_status *read_all(own_reader *r, const ons_json *json) {
    static const char *const known[] = {"onstage_cost_graph", "name", "samples", "nodes", "tensors", "weights", NULL};
    const ons_json *nodes, *tensors, *weights = NULL;
    ons_workload *work = r->work;
    ONS_TRY(check_version(json));
    ONS_TRY(check_members(json, known));
    ONS_TRY(get_text(json, "name", r->arena, &work->name));
    work->samples = 1;
    ONS_TRY(get_size(json, "samples", &work->samples));
    ONS_CHECK(work->samples > 0, ONS_INVALID_DATA, "'samples' must be 1 or more");
    ONS_TRY(ons_json_get_array(json, "nodes", &nodes));
    ONS_TRY(ons_json_get_array(json, "tensors", &tensors));
    if (ons_json_find(json, "weights") != NULL) ONS_TRY(ons_json_get_array(json, "weights", &weights));
    work->node_count = (uint32_t)cJSON_GetArraySize(nodes);
    work->tensor_count = (uint32_t)cJSON_GetArraySize(tensors);
    work->weight_count = weights == NULL ? 0 : (uint32_t)cJSON_GetArraySize(weights);
    ONS_NEW(work->nodes, r->arena, (size_t)work->node_count + 1);
    ONS_NEW(work->layers, r->arena, (size_t)work->node_count + 1);
    ONS_NEW(work->tensors, r->arena, (size_t)work->tensor_count + 1);
    ONS_NEW(work->weights, r->arena, (size_t)work->weight_count + 1);
    ONS_TRY(read_items(r, nodes, "nodes", read_node));
    ONS_TRY(read_items(r, tensors, "tensors", read_tensor));
    return weights == NULL ? NULL : read_items(r, weights, "weights", read_weight);
}

ons_status *ons_cost_file_read_own(const ons_json *json, ons_arena *arena, ons_workload *work) {
    own_reader r = {.arena = arena, .work = work};
    ons_status *status = read_all(&r, json);
    ons_map_free(&r.nodes);
    ons_map_free(&r.layers);
    return status;
}
