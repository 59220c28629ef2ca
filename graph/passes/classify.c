#include "graph/passes/classify.h"

#include "graph/passes/names.h"
#include "graph/passes/readers.h"

/* Whether some reader takes the value for a weight: a bias is added, an epsilon is added below a root. */
static bool is_used_as_weight(const ons_graph *graph, ons_value_id value) {
    return (ons_readings(graph, value) & ~(uint32_t)(ONS_READ_ELEMENTWISE | ONS_READ_ROOTED)) != 0;
}

void ons_classify_scalars(ons_graph *graph, bool (*insists)(const void *context, const char *name),
                          const void *context) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_value *value = ons_graph_value(graph, id);
        if (value->producer != ONS_NONE || value->data == ONS_NO_DATA || !ons_dtype_is_float(value->type.dtype))
            continue;
        bool insisted = insists != NULL && insists(context, value->name);
        if (insisted && value->reason != ONS_FROM_CONSTANT_NODE && value->reason != ONS_STATISTICS) {
            value->kind = ONS_PARAMETER;
            value->reason = ONS_WEIGHT;
        } else if (ons_may_be_constant(value) && ons_shape_elements(&value->type.shape) == 1 &&
                   ons_is_constant_name(value->name) && !is_used_as_weight(graph, id)) {
            value->kind = ONS_CONSTANT;
            value->reason = ONS_SCALAR;
        }
    }
}

bool ons_may_be_constant(const ons_value *value) {
    return value->kind == ONS_PARAMETER && value->origin != ONS_ORIGIN_PARAMETER && value->origin != ONS_ORIGIN_MOVED;
}

void ons_classify_computed(ons_graph *graph, bool (*insists)(const void *context, const char *name),
                           const void *context) {
    const uint32_t elementwise = ONS_READ_ADDED | ONS_READ_ELEMENTWISE | ONS_READ_ROOTED;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_value *value = ons_graph_value(graph, id);
        if (value->origin != ONS_ORIGIN_COMPUTED || value->kind != ONS_PARAMETER || value->producer != ONS_NONE)
            continue;
        if ((ons_readings(graph, id) & ~elementwise) != 0 || (insists != NULL && insists(context, value->name)))
            continue;
        value->kind = ONS_CONSTANT;
        value->reason = ONS_COMPUTED;
    }
}
