/* Which nodes of a file's graph outputs depend on. */
#ifndef ONSTAGE_ONNX_IMPORT_NEEDED_H
#define ONSTAGE_ONNX_IMPORT_NEEDED_H

#include "base/map.h"
#include "base/vector.h"
#include "onnx_import/model_parts.h"

/* Sets needed[i] for each node i of the graph that one of these tensors depends on, be it by a branch's captures. A
 * tensor that no node makes needs none. */
ons_status *ons_needed_nodes(const Onnx__GraphProto *graph, const char *const *outputs, size_t count, bool *needed);

#endif
