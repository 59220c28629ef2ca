/* Any bytes as an idx file, plain and gzipped. */
#include "runtime/data/idx.h"
#include "tests/robust/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_array array = {0};
    fuzz_read_array(ons_idx_parse(bytes, size, &array), &array);
    fuzz_read_array(ons_idx_parse_gzip(bytes, size, &array), &array);
    return 0;
}
