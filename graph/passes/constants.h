/* Weights among the constants that a file's nodes state.
 *
 * Some exporters write weights as Constant nodes, as computations write masks, scales and epsilons. Where the file does
 * not say which is which (ons_value.origin), the neighbours do: it is a weight if
 *
 * - an operand of a product or convolution is it, and another operand is computed;
 * - places that the data name are looked up in it;
 * - a normalisation takes it as scale or shift, or an elementwise operator does behind a division by a root;
 * - it is added to what such a product makes.
 *
 * Nodes in between do not matter if they keep its elements or compute with constants alone: a Cast, a Concat, a Split,
 * a product with a number, in the model's graph or in a body.
 *
 * A matrix of few different numbers (a selection, a mean), and what else an elementwise operator takes behind a weight
 * (a mean of pixels is in front of all), may be one: those stay constants, and the run notes them. */
#ifndef ONSTAGE_GRAPH_PASSES_CONSTANTS_H
#define ONSTAGE_GRAPH_PASSES_CONSTANTS_H

#include "graph/operator.h"

/* Makes parameters of those that are weights; on a graph as imported, before the rules of classify.h. */
ons_status *ons_promote_constants(ons_graph *graph);

/* Appends the ids of those that may be weights and are not trained. */
typedef ONS_VECTOR(ons_value_id) ons_unsure_constants;
ons_status *ons_find_unsure_constants(const ons_graph *graph, ons_unsure_constants *list);

#endif
