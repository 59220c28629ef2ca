/* What the importer cannot see at one initialiser alone: whether a single number is a weight. */
#ifndef ONSTAGE_GRAPH_PASSES_CLASSIFY_H
#define ONSTAGE_GRAPH_PASSES_CLASSIFY_H

#include "graph/operator.h"

/* Whether what an initialiser holds and how it is read may make a constant of it: not where the file says that it is a
 * parameter, or elements of one. */
bool ons_may_be_constant(const ons_value *value);

/* On a graph as imported: what the exporter computed from parameters, and elementwise operators alone read, is a
 * constant with the reason ONS_COMPUTED, since training it is not training them. What is read otherwise is the better
 * kept as a weight: without it a layer would not be trained at all. */
void ons_classify_computed(ons_graph *graph, bool (*insists)(const void *context, const char *name),
                           const void *context);

/* On a graph as imported. Exporters write what a module calls a parameter as an initialiser with its shape, and the
 * numbers of a computation (a scale, an epsilon) as Constant nodes or with rank 0. So a float initialiser of one
 * element and rank ≥ 1 is a weight (a learned temperature, the bias of a layer with one output), but for one that an
 * exporter named a constant and that no operator other than an elementwise one reads or adds, below a square root
 * apart: its kind becomes ONS_CONSTANT, its reason ONS_SCALAR. `insists` (may be NULL) names initialisers that the user
 * wants trained: floats of any reason become weights. */
void ons_classify_scalars(ons_graph *graph, bool (*insists)(const void *context, const char *name),
                          const void *context);

#endif
