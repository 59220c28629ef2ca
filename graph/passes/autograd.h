/* Reverse-mode differentiation: appends backward nodes to a bound graph with a loss. */
#ifndef ONSTAGE_GRAPH_PASSES_AUTOGRAD_H
#define ONSTAGE_GRAPH_PASSES_AUTOGRAD_H

#include "graph/blocker.h"
#include "graph/operator.h"
#include "graph/passes/update.h"

/* Gradients of the scalar `loss` with respect to `parameters` (values of any kind; ordered as given). A parameter that
 * no gradient reaches has use_count 0. `cotangent`: the gradient to start from, of the loss's type; ONS_NONE: one.
 * `loss` may have any shape where `cotangent` is given. Results live in the graph's arena.
 * Nodes on the way that are not differentiable are an error that names them, or go to `blockers` where that is given.
 */
ons_status *ons_differentiate(ons_graph *graph, const ons_registry *registry, ons_value_id loss, ons_value_id cotangent,
                              const ons_value_id *parameters, uint32_t parameter_count, ons_blockers *blockers,
                              ons_parameter_gradient *gradients);

/* For gradient rules: what flows into input `index` so far, from the nodes behind this one that read the same value;
 * ONS_NONE where nothing does, or where uses are kept apart. A rule that takes it adds it to its own share, and hands
 * back the sum: one pass over memory for both. Where two inputs are one value the first to ask gets all. */
ons_value_id ons_gradient_take_flow(ons_gradient *g, uint32_t index);

/* For gradient rules: the cotangent of output `index` in two summands, the second ONS_NONE where there is one alone.
 * Whoever takes both leaves the sum of them, g->cotangents[index], without a reader: it is pruned. */
void ons_gradient_take_summands(ons_gradient *g, uint32_t index, ons_value_id *first, ons_value_id *second);

/* Which values lie on a differentiable path from `from` (true) to `loss`: side array by value id, to be freed. */
ons_status *ons_gradient_reaches(const ons_graph *graph, ons_value_id loss, bool **reaches);

#endif
