/* Token streams for language models, cut into windows.
 *
 *   tokens   t0 t1 t2 t3 t4 t5 t6 t7 t8        length 4: window 0 has input t0..t3 and target t1..t4,
 *            └────N────┘└────N────┘            window 1 has input t4..t7 and target t5..t8
 *
 * Files: llm.c's .bin (a header of 256 int32: magic 20240520 version 1 for uint16, magic 20240801 version 7 for uint32;
 * then the tokens), a .npy of one dimension, or raw little-endian tokens without a header. Always mapped.
 */
#ifndef ONSTAGE_RUNTIME_DATA_TOKENS_H
#define ONSTAGE_RUNTIME_DATA_TOKENS_H

#include "runtime/data/array.h"

typedef struct ons_tokens {
    ons_array stream; /* one dimension of integers; owned */
    uint64_t length;  /* N */
    uint64_t windows; /* (tokens - 1) / N */
} ons_tokens;

/* `dtype`: of a raw file (ONS_UINT8, ONS_UINT16, ONS_UINT32); ONS_NO_DTYPE: by the name's end (.u8, .u16, .u32, and
 * .txt for bytes), else uint16. `length` ≥ 1. Fails where there is not even one window. */
ons_status *ons_tokens_open(const char *path, ons_dtype dtype, uint64_t length, ons_tokens *tokens);
ons_status *ons_tokens_open_memory(const uint8_t *bytes, size_t size, ons_dtype dtype, uint64_t length,
                                   ons_tokens *tokens);
void ons_tokens_close(ons_tokens *tokens); /* a zeroed one is fine */

#endif
