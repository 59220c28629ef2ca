/* What names and contents of a file tell of the exporter that wrote it. */
#ifndef ONSTAGE_ENGINE_EXPORTER_HABITS_H
#define ONSTAGE_ENGINE_EXPORTER_HABITS_H

#include <stdio.h>

#include "graph/graph.h"
#include "onnx_import/model_file.h"

/* An export for inference multiplies each BatchNorm into the convolution before it. PyTorch's exporters then write
 * weight and bias under names that no module has: "onnx::Conv_12" and "onnx::Conv_13", or "conv.weight" and
 * "conv.weight_bias"; where the convolution had a bias, the newer one keeps the names and leaves a mark at the node.
 * Writes one line to `out` where a graph as imported, or its file, has either. */
void ons_note_folded_normalisation(const ons_model_file *file, const ons_graph *graph, FILE *out);

/* A tied output head comes out of an exporter as a transposed copy of the table that it was tied to. Writes one line to
 * `out` for each float32 matrix among the weights that holds another's transpose. */
void ons_note_transposed_copies(const ons_graph *graph, FILE *out);

#endif
