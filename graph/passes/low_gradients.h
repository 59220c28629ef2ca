/* Lets what reads a weight's gradient read it in the type in which a product made it. The gradient of a weight's cast
 * is a cast, which writes every gradient again, twice as long, for an update, a sum over micro-batches or a sum of
 * squares that could widen it on its way. The bits are the same: widening is exact. */
#ifndef ONSTAGE_GRAPH_PASSES_LOW_GRADIENTS_H
#define ONSTAGE_GRAPH_PASSES_LOW_GRADIENTS_H

#include "graph/registry.h"

/* On the complete training graph, for backends whose kernels of these roles take such gradients. Casts that nothing
 * reads any more are left for ons_prune. */
void ons_read_low_gradients(ons_graph *graph, const ons_registry *registry);

#endif
