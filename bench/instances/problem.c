#include "bench/instances/problem.h"

#include <math.h>
#include <string.h>

#include "base/file.h"

const char *const objective_names[OBJECTIVES] = {"step_seconds", "bottleneck_seconds"};

/* ---------------------------------------------------------------------------------------------------------- members */

static ons_status *take_text(const ons_json *o, const char *name, ons_arena *arena, const char **text) {
    ONS_TRY(ons_json_get_text(o, name, text));
    *text = ons_arena_copy_text(arena, *text);
    return *text == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *take_seconds(const ons_json *o, const char *name, double *seconds) {
    *seconds = 0;
    if (ons_json_find(o, name) == NULL) return NULL;
    ONS_TRY(ons_json_get_double(o, name, seconds));
    ONS_CHECK(isfinite(*seconds) && *seconds >= 0, ONS_INVALID_DATA, "'%s' is no time", name);
    return NULL;
}

/* Sums of as many stay far below what 64 bits hold. */
static const int64_t MOST_BYTES = (int64_t)1 << 48;

static ons_status *take_bytes(const ons_json *o, const char *name, int64_t otherwise, int64_t *bytes) {
    *bytes = otherwise;
    if (ons_json_find(o, name) == NULL) return NULL;
    ONS_TRY(ons_json_get_int(o, name, bytes));
    ONS_CHECK(*bytes >= 0 && *bytes <= MOST_BYTES, ONS_INVALID_DATA, "'%s' is no size", name);
    return NULL;
}

static ons_status *take_count(const ons_json *o, const char *name, uint32_t least, uint32_t *count) {
    int64_t value;
    ONS_TRY(ons_json_get_int(o, name, &value));
    ONS_CHECK(value >= least && value <= 4096, ONS_INVALID_DATA, "'%s' is not from %u to 4096", name, least);
    *count = (uint32_t)value;
    return NULL;
}

static ons_status *take_nodes(const instance *in, const ons_json *o, const char *name, ons_arena *arena,
                              number_list *list) {
    const ons_json *array, *each;
    *list = (number_list){0};
    if (ons_json_find(o, name) == NULL) return NULL;
    ONS_TRY(ons_json_get_array(o, name, &array));
    ONS_NEW(list->items, arena, (size_t)cJSON_GetArraySize(array) + 1);
    cJSON_ArrayForEach(each, array) {
        uint32_t node = cJSON_IsString(each) ? ons_map_get(&in->node_of, each->valuestring) : ONS_MAP_ABSENT;
        ONS_CHECK(node != ONS_MAP_ABSENT, ONS_INVALID_DATA, "'%s' names a node that is not there", name);
        list->items[list->count++] = node;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ graph */

static ons_status *take_node(instance *in, const ons_json *o, ons_arena *arena) {
    graph_node *n = &in->nodes[in->node_count];
    n->recomputable = true;
    ONS_TRY(take_text(o, "name", arena, &n->name));
    ONS_TRY(take_seconds(o, "forward_seconds", &n->forward));
    ONS_TRY(take_seconds(o, "input_gradient_seconds", &n->input_gradient));
    ONS_TRY(take_seconds(o, "weight_gradient_seconds", &n->weight_gradient));
    ONS_TRY(take_seconds(o, "update_seconds", &n->update));
    ONS_TRY(take_bytes(o, "forward_bytes", 0, &n->forward_bytes));
    ONS_TRY(take_bytes(o, "backward_bytes", 0, &n->backward_bytes));
    if (ons_json_find(o, "recomputable") != NULL) ONS_TRY(ons_json_get_bool(o, "recomputable", &n->recomputable));
    ONS_CHECK(ons_map_get(&in->node_of, n->name) == ONS_MAP_ABSENT, ONS_INVALID_DATA, "two nodes '%s'", n->name);
    return ons_map_set(&in->node_of, n->name, in->node_count++);
}

static ons_status *take_tensor(instance *in, const ons_json *o, ons_arena *arena) {
    graph_tensor *t = &in->tensors[in->tensor_count];
    const ons_json *producer = ons_json_find(o, "producer");
    const char *name;
    t->producer = NOBODY;
    if (producer != NULL && !cJSON_IsNull(producer)) {
        ONS_TRY(ons_json_get_text(o, "producer", &name));
        t->producer = ons_map_get(&in->node_of, name);
        ONS_CHECK(t->producer != ONS_MAP_ABSENT, ONS_INVALID_DATA, "'producer' names a node that is not there");
    }
    ONS_TRY(take_text(o, "name", arena, &t->name));
    ONS_TRY(take_bytes(o, "bytes", 0, &t->bytes));
    ONS_TRY(take_bytes(o, "gradient_bytes", t->producer == NOBODY ? 0 : t->bytes, &t->gradient_bytes));
    ONS_TRY(take_nodes(in, o, "readers", arena, &t->readers));
    ONS_TRY(take_nodes(in, o, "savers", arena, &t->savers));
    if (ons_json_find(o, "savers") == NULL && t->producer != NOBODY) {
        ONS_NEW(t->savers.items, arena, 1);
        t->savers.items[t->savers.count++] = t->producer;
    }
    ONS_CHECK(ons_map_get(&in->tensor_of, t->name) == ONS_MAP_ABSENT, ONS_INVALID_DATA, "two tensors '%s'", t->name);
    return ons_map_set(&in->tensor_of, t->name, in->tensor_count++);
}

static ons_status *take_weight(instance *in, const ons_json *o, ons_arena *arena) {
    graph_weight *w = &in->weights[in->weight_count++];
    int64_t state;
    ONS_TRY(take_bytes(o, "bytes", 0, &w->bytes));
    ONS_TRY(take_bytes(o, "gradient_bytes", w->bytes, &w->gradient_bytes));
    ONS_TRY(take_bytes(o, "state_bytes", 0, &state));
    w->bytes += w->gradient_bytes + state;
    return take_nodes(in, o, "users", arena, &w->users);
}

static ons_status *take_all(instance *in, const ons_json *array, ons_arena *arena,
                            ons_status *(*take)(instance *in, const ons_json *o, ons_arena *arena)) {
    const ons_json *each;
    uint32_t i = 0;
    cJSON_ArrayForEach(each, array) ONS_TRY_AT(take(in, each, arena), "[%u]", i++);
    return NULL;
}

static ons_status *take_graph(const ons_json *o, ons_arena *arena, instance *in) {
    const ons_json *nodes, *tensors, *weights;
    int64_t version;
    ONS_TRY(ons_json_get_int(o, "onstage_cost_graph", &version));
    ONS_CHECK(version == 1, ONS_INVALID_DATA, "'onstage_cost_graph' is not 1");
    ONS_TRY(ons_json_get_array(o, "nodes", &nodes));
    ONS_TRY(ons_json_get_array(o, "tensors", &tensors));
    ONS_TRY(ons_json_get_array(o, "weights", &weights));
    ONS_NEW(in->nodes, arena, (size_t)cJSON_GetArraySize(nodes) + 1);
    ONS_NEW(in->tensors, arena, (size_t)cJSON_GetArraySize(tensors) + 1);
    ONS_NEW(in->weights, arena, (size_t)cJSON_GetArraySize(weights) + 1);
    ONS_TRY_AT(take_all(in, nodes, arena, take_node), "nodes");
    ONS_TRY_AT(take_all(in, tensors, arena, take_tensor), "tensors");
    ONS_TRY_AT(take_all(in, weights, arena, take_weight), "weights");
    ONS_CHECK(in->node_count > 0, ONS_INVALID_DATA, "a graph without nodes");
    return NULL;
}

ons_status *instance_parse_graph(const void *bytes, size_t size, ons_arena *arena, instance *in) {
    ons_json *json;
    ONS_TRY(ons_json_parse_names(bytes, size, &json));
    ons_status *status = take_graph(json, arena, in);
    ons_json_free(json);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- at once */

/* Puts what another graph of the same names says into the order of the problem's own. */
static ons_status *match(const instance *other, ons_arena *arena, instance *in) {
    graph_node *nodes;
    graph_tensor *tensors;
    ONS_CHECK(other->node_count == in->node_count && other->tensor_count == in->tensor_count, ONS_INVALID_DATA,
              "not the nodes and tensors of %s", in->graph);
    ONS_NEW(nodes, arena, in->node_count);
    ONS_NEW(tensors, arena, in->tensor_count);
    for (uint32_t i = 0; i < in->node_count; ++i) {
        uint32_t at = ons_map_get(&other->node_of, in->nodes[i].name);
        ONS_CHECK(at != ONS_MAP_ABSENT, ONS_INVALID_DATA, "there is no node '%s'", in->nodes[i].name);
        nodes[i] = other->nodes[at];
    }
    for (uint32_t i = 0; i < in->tensor_count; ++i) {
        uint32_t at = ons_map_get(&other->tensor_of, in->tensors[i].name);
        ONS_CHECK(at != ONS_MAP_ABSENT, ONS_INVALID_DATA, "there is no tensor '%s'", in->tensors[i].name);
        tensors[i] = other->tensors[at];
    }
    in->nodes_at_once = nodes;
    in->tensors_at_once = tensors;
    return NULL;
}

ons_status *instance_parse_graph_at_once(const void *bytes, size_t size, ons_arena *arena, instance *in) {
    instance other = {0};
    ons_status *status = instance_parse_graph(bytes, size, arena, &other);
    if (status == NULL) status = match(&other, arena, in);
    instance_free(&other);
    return status;
}

static double draw(double low, double high, double share) { return low + (high - low) * share; }

static int64_t draw_bytes(int64_t low, int64_t high, double share) {
    return (int64_t)floor(draw((double)low, (double)high, share) + 0.5);
}

static graph_node draw_node(const graph_node *low, const graph_node *high, double share) {
    graph_node n = *low;
    n.forward = draw(low->forward, high->forward, share);
    n.input_gradient = draw(low->input_gradient, high->input_gradient, share);
    n.weight_gradient = draw(low->weight_gradient, high->weight_gradient, share);
    n.update = draw(low->update, high->update, share);
    n.forward_bytes = draw_bytes(low->forward_bytes, high->forward_bytes, share);
    n.backward_bytes = draw_bytes(low->backward_bytes, high->backward_bytes, share);
    return n;
}

ons_status *instance_scale(const instance *in, uint32_t at_once, ons_arena *arena, instance *scaled) {
    *scaled = *in;
    if (at_once == 1) return NULL;
    ONS_CHECK(in->nodes_at_once != NULL && at_once <= in->most_at_once, ONS_DEFECT, "no costs of %u at once", at_once);
    double share = (double)(at_once - 1) / (double)(in->most_at_once - 1);
    ONS_NEW(scaled->nodes, arena, in->node_count);
    ONS_NEW(scaled->tensors, arena, in->tensor_count);
    for (uint32_t i = 0; i < in->node_count; ++i)
        scaled->nodes[i] = draw_node(&in->nodes[i], &in->nodes_at_once[i], share);
    for (uint32_t i = 0; i < in->tensor_count; ++i) {
        const graph_tensor *low = &in->tensors[i], *high = &in->tensors_at_once[i];
        scaled->tensors[i] = *low;
        scaled->tensors[i].bytes = draw_bytes(low->bytes, high->bytes, share);
        scaled->tensors[i].gradient_bytes = draw_bytes(low->gradient_bytes, high->gradient_bytes, share);
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- instance */

static ons_status *take_objective(const ons_json *o, objective *which) {
    const char *name;
    ONS_TRY(ons_json_get_text(o, "objective", &name));
    for (*which = 0; *which < OBJECTIVES; ++*which)
        if (strcmp(name, objective_names[*which]) == 0) return NULL;
    return ons_status_new(ONS_INVALID_DATA, "'objective' is neither %s nor %s", objective_names[0], objective_names[1]);
}

static ons_status *take_groupings(const ons_json *o, ons_arena *arena, instance *in) {
    const ons_json *at_once;
    in->copies_of_a_stage = in->most_at_once = 1;
    if (ons_json_find(o, "copies_of_a_stage") != NULL)
        ONS_TRY(take_count(o, "copies_of_a_stage", 1, &in->copies_of_a_stage));
    if (ons_json_find(o, "at_once") == NULL) return NULL;
    ONS_TRY(ons_json_get_object(o, "at_once", &at_once));
    ONS_TRY(take_count(at_once, "micro_batches", 2, &in->most_at_once));
    return take_text(at_once, "graph", arena, &in->graph_at_once);
}

static ons_status *take_links(const ons_json *o, instance *in) {
    ONS_TRY(take_seconds(o, "link_bandwidth", &in->link_bandwidth));
    ONS_TRY(take_seconds(o, "link_latency", &in->link_latency));
    ONS_TRY(take_seconds(o, "host_bandwidth", &in->host_bandwidth));
    return take_seconds(o, "host_latency", &in->host_latency);
}

static ons_status *take_instance(const ons_json *o, ons_arena *arena, instance *in) {
    const ons_json *best, *bound;
    int64_t version;
    ONS_TRY(ons_json_get_int(o, "onstage_instance", &version));
    ONS_CHECK(version == 1, ONS_INVALID_DATA, "'onstage_instance' is not 1");
    ONS_TRY(take_text(o, "name", arena, &in->name));
    ONS_TRY(take_text(o, "graph", arena, &in->graph));
    ONS_TRY(take_count(o, "devices", 1, &in->devices));
    ONS_TRY(take_count(o, "micro_batches", 1, &in->micro_batches));
    ONS_TRY(take_count(o, "stages_of_a_device", 0, &in->stages_of_a_device));
    ONS_TRY(take_bytes(o, "memory_bytes", 0, &in->memory_bytes));
    ONS_TRY(take_links(o, in));
    ONS_TRY(take_groupings(o, arena, in));
    ONS_TRY(take_objective(o, &in->objective));
    if (ons_json_find(o, "best") == NULL) return NULL;
    ONS_TRY(ons_json_get_object(o, "best", &best));
    ONS_TRY(take_seconds(best, "value", &in->best));
    ONS_TRY(take_text(best, "found_by", arena, &in->found_by));
    ONS_TRY(take_text(best, "solution", arena, &in->solution));
    ONS_TRY(ons_json_get_object(o, "bound", &bound));
    ONS_TRY(take_seconds(bound, "value", &in->bound));
    return take_text(bound, "from", arena, &in->bound_from);
}

ons_status *instance_parse(const void *bytes, size_t size, ons_arena *arena, instance *in) {
    ons_json *json;
    *in = (instance){0};
    ONS_TRY(ons_json_parse_names(bytes, size, &json));
    ons_status *status = take_instance(json, arena, in);
    ons_json_free(json);
    return status;
}

typedef ons_status *parse(const void *json, size_t size, ons_arena *arena, instance *in);

static ons_status *load_file(const char *folder, const char *name, parse *parse_file, ons_arena *arena, instance *in) {
    ons_mapping file;
    const char *path = ons_arena_format(arena, "%s/%s", folder, name);
    if (path == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_mapping_open(path, &file));
    ons_status *status = parse_file(file.bytes, file.size, arena, in);
    ons_mapping_close(&file);
    ONS_TRY_AT(status, "%s", path);
    return NULL;
}

ons_status *instance_load(const char *folder, const char *name, ons_arena *arena, instance *in) {
    *in = (instance){0};
    const char *path = ons_arena_format(arena, "problems/%s.json", name);
    if (path == NULL) return ons_status_out_of_memory();
    ONS_TRY(load_file(folder, path, instance_parse, arena, in));
    ONS_TRY(load_file(folder, in->graph, instance_parse_graph, arena, in));
    if (in->graph_at_once == NULL) return NULL;
    return load_file(folder, in->graph_at_once, instance_parse_graph_at_once, arena, in);
}

void instance_free(instance *in) {
    ons_map_free(&in->node_of);
    ons_map_free(&in->tensor_of);
}
