/* Adds gradients up as soon as they are there. The passes append: the sums over micro-batches of all weights' gradients
 * come after the whole backward part, and until then every gradient would lie there beside its sum. */
#ifndef ONSTAGE_GRAPH_PASSES_HOIST_ACCUMULATION_H
#define ONSTAGE_GRAPH_PASSES_HOIST_ACCUMULATION_H

#include "graph/passes/tracked.h"
#include "graph/registry.h"

/* Moves every node that adds a weight's gradient to a sum right behind the node that makes the gradient, and removes
 * what nothing reads. Ids change. */
ons_status *ons_hoist_accumulation(ons_graph *graph, const ons_registry *registry, ons_tracked_values *tracked);

#endif
