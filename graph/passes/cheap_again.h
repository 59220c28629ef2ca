/* What is made again for the backward part rather than kept, where nobody has planned memory: results of operators with
 * ONS_TRAIT_CHEAP_AGAIN whose operand is kept anyway, for their own gradient. A block of a transformer keeps the
 * residual stream then and what goes into its activation function, and neither norms nor what comes out of it; a
 * convolutional network keeps what its convolutions make, and not what is normalised. Nothing is made again from what
 * was itself made again. What the operator's own gradient can hand back (ONS_TRAIT_HANDS_BACK) costs least: it is not
 * computed by a node of its own. */
#ifndef ONSTAGE_GRAPH_PASSES_CHEAP_AGAIN_H
#define ONSTAGE_GRAPH_PASSES_CHEAP_AGAIN_H

#include "graph/passes/cut.h"

/* Smaller values are not worth a node. */
enum { ONS_CHEAP_AGAIN_LEAST = 1 << 20 }; /* bytes */

/* Gives the decisions for a complete training graph that is not cut; in `arena`. */
ons_status *ons_find_cheap_again(const ons_graph *graph, ons_arena *arena, ons_cut_decision **decisions,
                                 uint32_t *count);

#endif
