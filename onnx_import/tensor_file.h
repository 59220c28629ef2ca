/* A file that is one serialised TensorProto, as ONNX's own test data come: an array to train on. */
#ifndef ONSTAGE_ONNX_IMPORT_TENSOR_FILE_H
#define ONSTAGE_ONNX_IMPORT_TENSOR_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "graph/type.h"

/* The elements in a fresh heap block that the caller frees. Data in other files is refused. */
ons_status *ons_tensor_file_read(const uint8_t *bytes, size_t size, ons_type *type, void **memory);

#endif
