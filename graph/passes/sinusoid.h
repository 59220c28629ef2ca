/* Tables of sines and cosines are not weights, though exporters write them like weights: positions of transformers
 * (one table holds sin and cos of each angle) and rotary embeddings (a table of each). No training gives such values:
 * the squares of the two add up to 1 in every place. */
#ifndef ONSTAGE_GRAPH_PASSES_SINUSOID_H
#define ONSTAGE_GRAPH_PASSES_SINUSOID_H

#include "graph/passes/classify.h"

/* Float32 and float64 parameters that are such tables become ONS_CONSTANT with the reason ONS_SINUSOIDS. */
ons_status *ons_classify_sinusoids(ons_graph *graph, const ons_insistence *insistence);

#endif
