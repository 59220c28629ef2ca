/* Any bytes as a safetensors file. */
#include "runtime/data/safetensors.h"
#include "tests/robust/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_safetensors file;
    ons_status *status = ons_safetensors_parse(bytes, size, &file);
    for (size_t i = 0; status == NULL && i < file.count; ++i) {
        const ons_tensor *tensor = &file.tensors[i].tensor;
        const volatile uint8_t *data = tensor->data;
        for (int64_t j = 0; j < ons_type_dense_bytes(&tensor->type); ++j) (void)data[j];
    }
    ons_status_free(status);
    ons_safetensors_free(&file);
    return 0;
}
