/* Which updates need not wait for the end of a step.
 *
 * Where a step is one micro-batch, a weight can be brought up to date as soon as its gradient is complete and nobody
 * reads the old weight any more. The gradient's memory is free from there on, so that no more than a few gradients are
 * alive at a time, and both are still in the cache. Where gradients are clipped by their common norm, all wait for it.
 */
#ifndef ONSTAGE_GRAPH_PASSES_UPDATE_IN_BACKWARD_H
#define ONSTAGE_GRAPH_PASSES_UPDATE_IN_BACKWARD_H

#include "graph/graph.h"

/* Of each node: an update that can run before the last node of the backward part has the node after which it can;
 * ONS_NONE: all others. Results in `arena`. */
ons_status *ons_find_updates_in_backward(const ons_graph *graph, ons_arena *arena, ons_node_id **after);

#endif
