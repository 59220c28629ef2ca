/* TensorProto in all its encodings: raw bytes, typed fields, external data. */
#ifndef ONSTAGE_ONNX_IMPORT_TENSOR_H
#define ONSTAGE_ONNX_IMPORT_TENSOR_H

#include "onnx_import/model_parts.h"

/* Numbers of TensorProto's fields that the exporter rewrites. */
enum {
    ONS_TENSOR_FLOAT_DATA = 4,
    ONS_TENSOR_INT32_DATA = 5,
    ONS_TENSOR_INT64_DATA = 7,
    ONS_TENSOR_RAW_DATA = 9,
    ONS_TENSOR_DOUBLE_DATA = 10,
    ONS_TENSOR_UINT64_DATA = 11,
    ONS_TENSOR_EXTERNAL_DATA = 13,
    ONS_TENSOR_DATA_LOCATION = 14,
};

/* Whether the bytes are in another file. */
bool ons_tensor_is_external(const Onnx__TensorProto *tensor);

/* Type and shape alone, checked: INVALID_MODEL for impossible ones, UNSUPPORTED for element types that onstage does not
 * have. Messages do not name the tensor. */
ons_status *ons_tensor_type(const Onnx__TensorProto *tensor, ons_type *type);

/* The elements, in ONNX's order, little-endian, where they already lie so somewhere (a mapping, or protobuf's memory):
 * *bytes, else NULL. `missing` as in ons_external_open. */
ons_status *ons_tensor_find(ons_model_file *file, const Onnx__TensorProto *tensor, const ons_type *type,
                            const void **bytes, bool *missing);

/* Converts the elements of any encoding to `data`, which has room for the type's bytes. */
ons_status *ons_tensor_decode(ons_model_file *file, const Onnx__TensorProto *tensor, const ons_type *type, void *data);

/* Puts the tensor into the store: small ones copied, large ones referred to where they are in a mapping. */
ons_status *ons_tensor_load(ons_model_file *file, const Onnx__TensorProto *tensor, bool allow_missing, ons_store *store,
                            ons_type *type, ons_data_id *data);

#endif
