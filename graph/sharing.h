/* Values that are the bytes of others: a view shows its source's, an updated state takes the place of the one before.
 */
#ifndef ONSTAGE_GRAPH_SHARING_H
#define ONSTAGE_GRAPH_SHARING_H

#include "graph/operator.h"

/* A view does not run: its output is its input's bytes. */
bool ons_is_view(const ons_operator *op);

/* Tests whether the node has both ends of the alias: either may be left out. */
bool ons_alias_connects(const ons_node *node, const ons_alias *alias);

/* (*roots)[value]: the value, made by no view, whose bytes a value shows; itself where it has its own. In `arena`. */
ons_status *ons_find_roots(const ons_graph *graph, ons_arena *arena, ons_value_id **roots);

/* The roots of ons_find_roots, where outputs that always take an input's place count as that input, too. */
ons_status *ons_find_places(const ons_graph *graph, ons_arena *arena, ons_value_id **roots);

#endif
