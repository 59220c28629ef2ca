#include "runtime/program/launch_groups.h"

#include "graph/sharing.h"

ons_status *ons_launch_groups_find(const ons_graph *graph, const ons_execution_order *execution_order, const bool *idle,
                                   const bool *multi_tensor, ons_arena *arena, ons_launch_groups *groups) {
    ONS_NEW(groups->first, arena, execution_order->count + 1);
    ONS_NEW(groups->last, arena, execution_order->count + 1);
    const ons_operator *op = NULL;
    uint32_t first = 0, count = 0;
    ons_part part = ONS_PART_BEGIN;
    for (uint32_t position = 0; position < execution_order->count; ++position) {
        const ons_node *node = ons_graph_node(graph, execution_order->nodes[position]);
        groups->first[position] = groups->last[position] = position;
        if (ons_is_view(node->op) || idle[execution_order->nodes[position]]) continue;
        bool joins = multi_tensor[execution_order->nodes[position]] && node->op == op &&
                     ons_execution_order_part(execution_order, position) == part && count < ONS_LAUNCH_GROUP_MOST;
        first = joins ? first : position;
        count = joins ? count + 1 : 1;
        op = node->op;
        part = ons_execution_order_part(execution_order, position);
        groups->first[position] = first;
    }
    for (uint32_t position = execution_order->count; position-- > 0;) { /* the last of a group sets the end of all */
        uint32_t begin = groups->first[position];
        if (groups->last[begin] < groups->last[position]) groups->last[begin] = groups->last[position];
        groups->last[position] = groups->last[begin];
    }
    return NULL;
}

static bool overlap(const ons_extent *a, const ons_extent *b) { return a->first < b->end && b->first < a->end; }

/* Whether one of them writes what the other touches. */
static bool conflict(const ons_touched *a, const ons_touched *b) {
    for (uint32_t i = 0; i < a->count; ++i)
        for (uint32_t k = 0; k < b->count; ++k)
            if ((i >= a->reads || k >= b->reads) && overlap(&a->extents[i], &b->extents[k])) return true;
    return false;
}

uint32_t ons_launch_group_count(const ons_touched *nodes, uint32_t count) {
    for (uint32_t i = 1; i < count; ++i)
        for (uint32_t k = 0; k < i; ++k)
            if (conflict(&nodes[k], &nodes[i])) return i;
    return count;
}
