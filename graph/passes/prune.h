/* Removes what nobody needs, and closes the gaps in the ids. */
#ifndef ONSTAGE_GRAPH_PASSES_PRUNE_H
#define ONSTAGE_GRAPH_PASSES_PRUNE_H

#include "graph/passes/tracked.h"

/* Keeps the nodes that the graph's outputs depend on, and those that bring a state or buffer up to date; keeps all
 * inputs of the graph, tracked values that no node makes, and otherwise the values that a kept node reads or always
 * makes (the first `outputs_min` of its arity). Renumbers ids. Where `order` is given (all node ids, each once), nodes
 * are also put into that order. */
ons_status *ons_prune(ons_graph *graph, const ons_node_id *order, ons_tracked_values *tracked);

/* As ons_prune, and keeps what the tracked values depend on. */
ons_status *ons_prune_tracked(ons_graph *graph, const ons_node_id *order, ons_tracked_values *tracked);

#endif
