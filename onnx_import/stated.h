/* Tensors that are no initialisers of the model's graph and may be weights all the same: those of Constant nodes, of
 * branches and bodies, of functions. For the importer and the exporter. */
#ifndef ONSTAGE_ONNX_IMPORT_STATED_H
#define ONSTAGE_ONNX_IMPORT_STATED_H

#include "onnx_import/importer.h"

/* A Constant node whose contents `id` has: a weight is remembered with its place in the file, and inside of bodies and
 * functions made a value of the model's graph. */
ons_status *ons_stated_constant(scope *s, const Onnx__NodeProto *node, ons_value_id id);

/* An initialiser, as what `value` says (kind, type, data, reason, origin). *done: it is one of a body, and a value of
 * the model's graph now. */
ons_status *ons_stated_initialiser(scope *s, const Onnx__TensorProto *tensor, const ons_value *value, bool *done);

/* NULL where there is none of that name. */
const ons_stated *ons_stated_find(const ons_model_file *file, const char *name);

#endif
