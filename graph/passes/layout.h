/* Chooses how values lie in memory, and puts explicit reorder nodes where two nodes disagree (ons_layout_rule). Runs on
 * the complete training or inference graph, before anything is partitioned or placed. */
#ifndef ONSTAGE_GRAPH_PASSES_LAYOUT_H
#define ONSTAGE_GRAPH_PASSES_LAYOUT_H

#include "graph/registry.h"

/* Ids change; `follow` as in ons_prune. */
ons_status *ons_choose_layouts(ons_graph *graph, const ons_registry *registry, ons_value_id **follow,
                               size_t follow_count);

#endif
