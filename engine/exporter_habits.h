/* What the names in a file tell of the exporter that wrote it. */
#ifndef ONSTAGE_ENGINE_EXPORTER_HABITS_H
#define ONSTAGE_ENGINE_EXPORTER_HABITS_H

#include <stdio.h>

#include "graph/graph.h"

/* An export for inference multiplies each BatchNorm into the convolution before it. PyTorch's exporters then write weight
 * and bias under names that no module has: "onnx::Conv_12" and "onnx::Conv_13", or "conv.weight" and "conv.weight_bias".
 * Writes one line to `out` where a graph as imported has such pairs. */
void ons_note_folded_normalisation(const ons_graph *graph, FILE *out);

#endif
