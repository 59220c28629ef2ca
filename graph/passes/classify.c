#include "graph/passes/classify.h"

#include <ctype.h>
#include <string.h>

/* What exporters call the constants of a computation: "/norm/Constant_1_output_0" and "val_72" (PyTorch's two),
 * "const_fold_opt__12" (TensorFlow's). */
static bool is_named_constant(const char *name) {
    size_t digits = strncmp(name, "val_", 4) == 0 ? strspn(name + 4, "0123456789") : 0;
    if (digits > 0 && name[4 + digits] == '\0') return true;
    for (const char *at = name; (at = strcasestr(at, "const")) != NULL; ++at)
        if (at == name || !isalpha((unsigned char)at[-1])) return true;
    return false;
}

/* Whether some reader takes the value for a weight, looking through identities. */
static bool is_used_as_weight(const ons_graph *graph, ons_value_id value) {
    for (size_t i = 0; i < graph->nodes.count; ++i) {
        const ons_node *node = &graph->nodes.items[i];
        uint32_t traits = node->op->roles.traits;
        for (uint32_t k = 0; k < node->input_count; ++k) {
            if (node->inputs[k] != value) continue;
            if (traits & ONS_TRAIT_IDENTITY) {
                if (node->outputs[0] != ONS_NONE && is_used_as_weight(graph, node->outputs[0])) return true;
            } else if (!(traits & ONS_TRAIT_ELEMENTWISE) || node->op->roles.role == ONS_ROLE_ADD) {
                return true;
            }
        }
    }
    return false;
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
        } else if (value->kind == ONS_PARAMETER && ons_shape_elements(&value->type.shape) == 1 &&
                   is_named_constant(value->name) && !is_used_as_weight(graph, id)) {
            value->kind = ONS_CONSTANT;
            value->reason = ONS_SCALAR;
        }
    }
}
