/* Any bytes as an .npy file: an array whose data can be read, or a failure. */
#include "runtime/data/npy.h"
#include "tests/robust/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_array array = {0};
    fuzz_read_array(ons_npy_parse(bytes, size, &array), &array);
    return 0;
}
