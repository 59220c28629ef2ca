/* Maxima and sums of the rows of a block of scores: each row leaves a register of lanes, and those of all rows are
 * joined at once, since joining the lanes of one register takes as long as the arithmetic of a short row. */
#ifndef ONSTAGE_KERNELS_ATTENTION_ATTENTION_ROWS_H
#define ONSTAGE_KERNELS_ATTENTION_ATTENTION_ROWS_H

#include "kernels/attention/attention_operands.h"
#include "kernels/common/math/simd.h"

/* Rows of the head that comes next, fetched while this one is worked on, a row at a time: where heads lie between each
 * other they are short pieces far apart, which the processor does not foresee. All of it is a hint. */
typedef struct ons_attention_ahead {
    ons_small_matrix read[4], written[3];
    int reads, writes;
    int64_t width; /* floats of a row */
} ons_attention_ahead;

static inline void ons_attention_fetch_read(const ons_attention_ahead *ahead, int64_t row) {
    for (int i = 0; i < ahead->reads; ++i)
        for (int64_t j = 0; j < ahead->width; j += ONS_ATTENTION_LINE)
            __builtin_prefetch(ahead->read[i].data + row * ahead->read[i].stride + j, 0, 2);
}

static inline void ons_attention_fetch_written(const ons_attention_ahead *ahead, int64_t row) {
    for (int i = 0; i < ahead->writes; ++i)
        for (int64_t j = 0; j < ahead->width; j += ONS_ATTENTION_LINE)
            __builtin_prefetch(ahead->written[i].data + row * ahead->written[i].stride + j, 1, 2);
}

#define ONS_LOG2_E 1.44269504f

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
