#include "planner/cost/cost_file.h"

#include <ctype.h>
#include <math.h>

#include "base/file.h"
#include "planner/cost/cost_file_formats.h"

bool ons_cost_file_is_time(double seconds) { return isfinite(seconds) && seconds >= 0; }

bool ons_cost_file_to_bytes(double value, int64_t *bytes) {
    if (!isfinite(value) || value < 0 || value > 9007199254740992.0) return false;
    *bytes = (int64_t)ceil(value);
    return true;
}

ons_status *ons_cost_file_layer_each(ons_workload *work, ons_arena *arena) {
    ONS_NEW(work->layers, arena, (size_t)work->node_count + 1);
    work->layer_count = work->node_count;
    for (uint32_t i = 0; i < work->node_count; ++i) {
        work->layers[i] = (ons_work_layer){work->nodes[i].name, i, 1};
        work->nodes[i].layer = i;
    }
    return NULL;
}

static ons_status *read_json(const ons_json *json, ons_arena *arena, ons_workload *work) {
    if (ons_json_find(json, "onstage_cost_graph") != NULL) return ons_cost_file_read_own(json, arena, work);
    if (ons_json_find(json, "nodes") != NULL && ons_json_find(json, "edges") != NULL)
        return ons_cost_file_read_piper(json, arena, work);
    return ons_status_new(ONS_INVALID_DATA, "JSON, but no cost graph: neither 'onstage_cost_graph', nor 'nodes' and "
                                            "'edges' as Piper writes them");
}

static ons_status *read(const char *text, size_t size, ons_arena *arena, ons_workload *work) {
    size_t start = 0;
    while (start < size && isspace((unsigned char)text[start])) ++start;
    ONS_CHECK(start < size, ONS_INVALID_DATA, "empty, where a cost graph is expected");
    if (text[start] != '{' && text[start] != '[') return ons_cost_file_read_pipedream(text, size, arena, work);
    ons_json *json;
    ONS_TRY(ons_json_parse_names(text, size, &json));
    ons_status *status = read_json(json, arena, work);
    ons_json_free(json);
    return status;
}

ons_status *ons_cost_file_parse(const void *bytes, size_t size, const ons_cost_file_options *options, ons_arena *arena,
                                ons_workload *work) {
    static const ons_cost_file_options by_depth = {.order = ONS_ORDER_DEPTH};
    const ons_cost_file_options *o = options != NULL ? options : &by_depth;
    ons_workload given = {0};
    uint32_t *order;
    ONS_TRY(read(bytes, size, arena, &given));
    ONS_CHECK(given.node_count > 0, ONS_INVALID_DATA, "a cost graph without nodes");
    ONS_TRY(ons_work_order(&given, o->order, o->stages, arena, &order));
    return ons_work_reorder(&given, order, arena, work);
}

ons_status *ons_cost_file_load(const char *path, const ons_cost_file_options *options, ons_arena *arena,
                               ons_workload *work) {
    ons_mapping mapping;
    ONS_TRY(ons_mapping_open(path, &mapping));
    ons_status *status = ons_cost_file_parse(mapping.bytes, mapping.size, options, arena, work);
    ons_mapping_close(&mapping);
    ONS_TRY_AT(status, "%s", path);
    if (work->name == NULL) work->name = ons_arena_copy_text(arena, path);
    return work->name == NULL ? ons_status_out_of_memory() : NULL;
}
