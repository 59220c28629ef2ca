#include "graph/passes/low_gradients.h"

#include "graph/passes/update.h"

/* The input that is a gradient; ONS_NONE: the operator reads none so. */
static uint32_t gradient_input(const ons_operator *op) {
    switch (op->roles.role) {
    case ONS_ROLE_SGD:
    case ONS_ROLE_ADAM:
    case ONS_ROLE_ADAMW:
    case ONS_ROLE_ADAGRAD:
    case ONS_ROLE_RMSPROP: return ONS_UPDATE_GRADIENT;
    case ONS_ROLE_ACCUMULATE: return 1;
    case ONS_ROLE_SQUARE_SUM: return 0;
    default: return ONS_NONE;
    }
}

void ons_read_low_gradients(ons_graph *graph, const ons_registry *registry) {
    const ons_operator *cast = ons_registry_role(registry, ONS_ROLE_CAST);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_node *node = ons_graph_node(graph, id);
        uint32_t input = gradient_input(node->op);
        if (input == ONS_NONE) continue;
        const ons_value *wide = ons_graph_value(graph, node->inputs[input]);
        const ons_node *maker = wide->producer == ONS_NONE ? NULL : ons_graph_node(graph, wide->producer);
        if (maker == NULL || maker->op != cast || wide->type.dtype != ONS_FLOAT32) continue;
        if (ons_dtype_is_half(ons_graph_value(graph, maker->inputs[0])->type.dtype))
            node->inputs[input] = maker->inputs[0];
    }
}
