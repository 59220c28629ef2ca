/* What the importer cannot see at one initialiser alone: whether a single number is a weight. */
#ifndef ONSTAGE_GRAPH_PASSES_CLASSIFY_H
#define ONSTAGE_GRAPH_PASSES_CLASSIFY_H

#include "graph/operator.h"

/* On a graph as imported. Exporters write what a module calls a parameter as an initialiser with its shape, and the
 * numbers of a computation (a scale, an epsilon) as Constant nodes or with rank 0. So a float initialiser of one
 * element and rank ≥ 1 is a weight (a learned temperature, the bias of a layer with one output), but for one that an
 * exporter named a constant and that no operator other than an elementwise one reads or adds, below a square root
 * apart: its kind becomes ONS_CONSTANT, its reason ONS_SCALAR. `insists` (may be NULL) names initialisers that the user
 * wants trained: floats of any reason become weights. */
void ons_classify_scalars(ons_graph *graph, bool (*insists)(const void *context, const char *name),
                          const void *context);

#endif
