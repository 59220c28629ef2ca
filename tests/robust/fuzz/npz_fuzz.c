/* Any bytes as an .npz archive. */
#include "runtime/data/npz.h"
#include "tests/robust/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_array array = {0};
    fuzz_read_array(ons_npz_parse(bytes, size, NULL, &array), &array);
    fuzz_read_array(ons_npz_parse(bytes, size, "x", &array), &array);
    return 0;
}
