/* Tensors that a program fills with one number (zeros_like, ones, full) are folded into initialisers by PyTorch's newer
 * exporter, under the name of what made them. They are constants of the computation, not weights. */
#ifndef ONSTAGE_GRAPH_PASSES_FILL_H
#define ONSTAGE_GRAPH_PASSES_FILL_H

#include "graph/graph.h"

/* On a graph as imported: parameters of such a name with one number in all elements become ONS_CONSTANT with the reason
 * ONS_FILLED. `insists` (may be NULL) names initialisers that the user wants trained all the same. */
void ons_classify_fills(ons_graph *graph, bool (*insists)(const void *context, const char *name), const void *context);

#endif
