/* Any bytes as a stream of tokens: the first two say how it is opened. */
#include "runtime/data/tokens.h"
#include "tests/robust/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const ons_dtype dtypes[] = {ONS_NO_DTYPE, ONS_UINT8, ONS_UINT16, ONS_UINT32, ONS_FLOAT32};
    if (size < 2) return 0;
    ons_tokens tokens;
    ons_dtype dtype = dtypes[bytes[0] % (sizeof dtypes / sizeof dtypes[0])];
    ons_status *status = ons_tokens_open_memory(bytes + 2, size - 2, dtype, bytes[1], &tokens);
    uint64_t count = status == NULL ? (uint64_t)tokens.stream.type.shape.dims[0] : 0;
    if (status == NULL && (tokens.windows == 0 || tokens.windows * tokens.length >= count)) abort();
    fuzz_read_array(status, &tokens.stream);
    return 0;
}
