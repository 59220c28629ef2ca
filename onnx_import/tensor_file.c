#include "onnx_import/tensor_file.h"

#include <stdlib.h>

#include "onnx_import/tensor.h"

static ons_status *read_tensor(const Onnx__TensorProto *tensor, size_t size, ons_type *type, void **memory) {
    ONS_CHECK(!ons_tensor_is_external(tensor), ONS_UNSUPPORTED, "the tensor's data are in another file");
    ONS_TRY(ons_tensor_type(tensor, type));
    int64_t bytes = ons_type_dense_bytes(type);
    /* No encoding needs less than a byte for eight bytes of an element. */
    ONS_CHECK((uint64_t)bytes / 8 <= size, ONS_INVALID_DATA, "the tensor has fewer elements than its shape says");
    *memory = malloc((size_t)bytes + 1);
    if (*memory == NULL) return ons_status_out_of_memory();
    ons_model_file nothing = {0}; /* no mapping that parts of the tensor could have been left in */
    ons_status *status = ons_tensor_decode(&nothing, tensor, type, *memory);
    if (status != NULL) {
        free(*memory);
        *memory = NULL;
    }
    return status;
}

ons_status *ons_tensor_file_read(const uint8_t *bytes, size_t size, ons_type *type, void **memory) {
    *memory = NULL;
    ons_frames frames = {0};
    ons_status *status = ons_wire_scan(bytes, size, &onnx__tensor_proto__descriptor, &frames);
    ons_vector_free(&frames);
    bool whole = status == NULL;
    ons_status_free(status); /* it speaks of models */
    ONS_CHECK(whole, ONS_INVALID_DATA, "it is no TensorProto, or damaged or cut off");
    Onnx__TensorProto *tensor = onnx__tensor_proto__unpack(NULL, size, bytes);
    ONS_CHECK(tensor != NULL, ONS_INVALID_DATA, "this is neither an array nor a TensorProto");
    status = read_tensor(tensor, size, type, memory);
    onnx__tensor_proto__free_unpacked(tensor, NULL);
    return status;
}
