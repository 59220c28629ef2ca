#include "graph/passes/hoist_accumulation.h"

#include <stdlib.h>

#include "graph/passes/prune.h"

/* The node after which a sum can be made; ONS_NONE: it stays where it is. */
static ons_node_id made_by(const ons_graph *graph, const ons_operator *accumulate, const ons_node *node) {
    if (node->op != accumulate || node->phase != ONS_WEIGHT_GRADIENT || node->per_step) return ONS_NONE;
    ons_node_id last = ONS_NONE;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_node_id maker = node->inputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(graph, node->inputs[i])->producer;
        if (maker != ONS_NONE && (last == ONS_NONE || maker > last)) last = maker;
    }
    return last;
}

/* `after`: of each node the first sum that follows it, `next`: of each sum the one that follows the same node. */
static void put_in_order(const ons_graph *graph, const ons_operator *accumulate, ons_node_id *after, ons_node_id *next,
                         ons_node_id *order) {
    size_t count = 0, nodes = graph->nodes.count;
    for (size_t id = 0; id < nodes; ++id) after[id] = next[id] = ONS_NONE;
    for (size_t id = nodes; id-- > 0;) {
        ons_node_id maker = made_by(graph, accumulate, ons_graph_node(graph, (ons_node_id)id));
        if (maker == ONS_NONE) continue;
        next[id] = after[maker];
        after[maker] = (ons_node_id)id;
    }
    for (ons_node_id id = 0; id < nodes; ++id) {
        if (made_by(graph, accumulate, ons_graph_node(graph, id)) != ONS_NONE) continue;
        order[count++] = id;
        for (ons_node_id sum = after[id]; sum != ONS_NONE; sum = next[sum]) order[count++] = sum;
    }
}

ons_status *ons_hoist_accumulation(ons_graph *graph, const ons_registry *registry, ons_tracked_values *tracked) {
    size_t nodes = graph->nodes.count;
    ons_node_id *room = calloc(3 * nodes + 1, sizeof *room);
    if (room == NULL) return ons_status_out_of_memory();
    put_in_order(graph, ons_registry_role(registry, ONS_ROLE_ACCUMULATE), room, room + nodes, room + 2 * nodes);
    ons_status *status = ons_prune(graph, room + 2 * nodes, tracked);
    free(room);
    return status;
}
