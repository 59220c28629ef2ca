#include "planner/cost/graph_work.h"
#include "planner/cost/node_amount.h"

ons_status *ons_graph_cost_analytic(const ons_graph *graph, const ons_device_profile *profile, ons_arena *arena,
                                    ons_graph_cost *cost) {
    *cost = (ons_graph_cost){0};
    ONS_NEW(cost->seconds, arena, graph->nodes.count + 1);
    ONS_NEW(cost->scratch_bytes, arena, graph->nodes.count + 1);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_node_amount amount;
        ONS_TRY(ons_node_amount_find(graph, id, arena, &amount));
        if (!amount.view)
            cost->seconds[id] = ons_device_profile_seconds(profile, amount.flops, amount.bytes, amount.matrix);
    }
    return NULL;
}
