/* Maxima and sums of the rows of a block of scores: each row leaves a register of lanes, and those of all rows are
 * joined at once, since joining the lanes of one register takes as long as the arithmetic of a short row. */
#ifndef ONSTAGE_KERNELS_ATTENTION_ATTENTION_ROWS_H
#define ONSTAGE_KERNELS_ATTENTION_ATTENTION_ROWS_H

#include "kernels/attention/attention_operands.h"
#include "kernels/common/math/simd.h"

typedef struct ons_attention_simd {
    ons_simd_float of[ONS_ATTENTION_BLOCK];
} ons_attention_simd;

/* lanes × rows. Rows beyond `rows` are set to 0. */
typedef struct ons_attention_columns {
    float of[ONS_SIMD_FLOATS][ONS_ATTENTION_BLOCK];
} ons_attention_columns;

static inline void ons_attention_turn(ons_attention_simd *lanes, int64_t rows, ons_attention_columns *columns) {
    for (; rows % ONS_SIMD_FLOATS != 0; ++rows) lanes->of[rows] = (ons_simd_float){0};
    ons_small_transpose(rows, ONS_SIMD_FLOATS, (ons_small_matrix){(float *)lanes->of, ONS_SIMD_FLOATS},
                        (ons_small_matrix){columns->of[0], ONS_ATTENTION_BLOCK});
}

/* Of each of `rows` rows, into an array of ONS_ATTENTION_BLOCK. Some number where a lane is not a number. */
static inline void ons_attention_maxima(ons_attention_simd *lanes, int64_t rows, float *max) {
    ons_attention_columns columns;
    ons_attention_turn(lanes, rows, &columns);
    for (int64_t r = 0; r < rows; r += ONS_SIMD_FLOATS) {
        ons_simd_float x = ons_simd_load(columns.of[0] + r);
        for (int l = 1; l < ONS_SIMD_FLOATS; ++l) x = ons_simd_max(x, ons_simd_load(columns.of[l] + r));
        ons_simd_store(max + r, x);
    }
}

static inline void ons_attention_sums(ons_attention_simd *lanes, int64_t rows, float *sum) {
    ons_attention_columns columns;
    ons_attention_turn(lanes, rows, &columns);
    for (int64_t r = 0; r < rows; r += ONS_SIMD_FLOATS) {
        ons_simd_float x = ons_simd_load(columns.of[0] + r);
        for (int l = 1; l < ONS_SIMD_FLOATS; ++l) x += ons_simd_load(columns.of[l] + r);
        ons_simd_store(sum + r, x);
    }
}

#endif
