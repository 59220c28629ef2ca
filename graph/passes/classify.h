/* What the importer cannot see at one initialiser alone: whether a single number is a weight. */
#ifndef ONSTAGE_GRAPH_PASSES_CLASSIFY_H
#define ONSTAGE_GRAPH_PASSES_CLASSIFY_H

#include "graph/operator.h"

/* On a graph as imported. A float initialiser of one element and rank ≥ 1 is a weight where an operator other than an
 * elementwise one reads it, or where it is added (the bias of a layer with one output); where it only multiplies,
 * divides or compares it is a constant of the computation (a scale, an epsilon): its kind becomes ONS_CONSTANT, its
 * reason ONS_SCALAR. `insists` (may be NULL) names initialisers that the user wants trained: floats of any reason
 * become weights. */
void ons_classify_scalars(ons_graph *graph, bool (*insists)(const void *context, const char *name),
                          const void *context);

#endif
