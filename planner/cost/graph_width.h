/* The memory that one node cannot do without: what it reads and writes must be on the device together. The widest node
 * is the least that any plan of the model needs, so a cap below it is refused before a search. */
#ifndef ONSTAGE_PLANNER_COST_GRAPH_WIDTH_H
#define ONSTAGE_PLANNER_COST_GRAPH_WIDTH_H

#include "graph/registry.h"

typedef struct ons_graph_width {
    ons_node_id node; /* ONS_NONE: no node works on anything but weights */
    int64_t bytes;    /* of what it reads and writes that is neither weight nor state, aligned as in an arena */
} ons_graph_width;

/* Finds the widest node. Whatever is split, swapped or computed again, a stage has this beside its weights while the
 * node runs: no cap can be below it. An output that may take an input's place counts once with it. */
ons_status *ons_graph_width_find(const ons_graph *graph, const ons_registry *registry, ons_arena *scratch,
                                 ons_graph_width *width);

#endif
