/* Which forward node every node of a training graph goes with. */
#ifndef ONSTAGE_PLANNER_COST_GRAPH_POSITIONS_H
#define ONSTAGE_PLANNER_COST_GRAPH_POSITIONS_H

#include "planner/cost/graph_work.h"

/* Fills in node_of_position, position_of_node and root_of_value; `count` positions. */
ons_status *ons_graph_positions_find(const ons_graph_work_options *options, ons_arena *arena, ons_graph_work *result,
                                     uint32_t *count);

/* Tests whether the node is a position of its own: it runs in the forward part of every micro-batch. */
static inline bool ons_is_forward_unit(const ons_node *node) { return node->phase == ONS_FORWARD && !node->per_step; }

#endif
