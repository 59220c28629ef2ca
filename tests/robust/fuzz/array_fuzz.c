/* Any bytes as an array of whatever format they look like, with TensorProto as the last resort. */
#include "onnx_import/tensor_file.h"
#include "tests/robust/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_array array;
    fuzz_read_array(ons_array_open_memory(bytes, size, NULL, ons_tensor_file_read, &array), &array);
    return 0;
}
