/* A model that was exported for a fixed number of samples, made to compute another number at once.
 *
 * The batch is followed from axis 0 of the inputs through the nodes of the bound graph. What an operator makes of it is
 * asked of the operator's own inference, with a number of samples that no size of the model is a multiple of; where an
 * operator only changes the shape, the batch keeps its place in the order of the elements. Sizes in constants that hold
 * the batch are rewritten, and an operand that is the same for all samples is repeated where its operator takes no
 * other number of them. Where several ways are open each is tried until all nodes fit. A node that mixes samples in a
 * way that one of them does not show (an element picked from the batch by a constant, say) is an obstacle.
 */
#ifndef ONSTAGE_GRAPH_PASSES_BATCH_H
#define ONSTAGE_GRAPH_PASSES_BATCH_H

#include "graph/blocker.h"
#include "graph/registry.h"

/* Changes a graph fresh from ons_bind in place, from `from` samples to `to`. Where the batch cannot be followed,
 * `obstacle` gets the node and the reason (texts in the graph's arena) and the graph stays as it is; otherwise
 * obstacle->node is NULL. */
ons_status *ons_change_batch(ons_graph *graph, const ons_registry *registry, int64_t from, int64_t to,
                             ons_blocker *obstacle);

/* Axis 0 of the inputs that count samples, where it is a number: the batch that the model was exported for. 0: it has
 * none. */
int64_t ons_exported_batch(const ons_graph *imported);

#endif
