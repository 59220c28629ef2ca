#include "planner/cost/node_amount.h"

#include <math.h>

#include "graph/operands.h"
#include "graph/sharing.h"

ons_status *ons_node_amount_find(const ons_graph *graph, ons_node_id id, ons_arena *arena, ons_node_amount *amount) {
    const ons_node *node = ons_graph_node(graph, id);
    *amount =
        (ons_node_amount){.matrix = (node->op->roles.traits & ONS_TRAIT_DENSE) != 0, .view = ons_is_view(node->op)};
    if (amount->view) return NULL;
    ons_operands operands;
    ONS_TRY(ons_operands_of(graph, id, arena, &operands));
    ons_cost cost = node->op->cost(&operands);
    ONS_CHECK(isfinite(cost.flops) && cost.flops >= 0 && isfinite(cost.bytes) && cost.bytes >= 0, ONS_DEFECT,
              "node '%s' (%s): its cost is no number", node->name, node->op->name);
    amount->flops = cost.flops;
    amount->bytes = cost.bytes;
    for (uint32_t i = 0; i < operands.output_count; ++i)
        if (ons_has_output(&operands, i))
            amount->written += (double)ons_shape_elements(&operands.outputs[i].shape) *
                               (double)ons_dtype_size(operands.outputs[i].dtype);
    return NULL;
}
