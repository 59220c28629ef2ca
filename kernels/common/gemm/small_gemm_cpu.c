/* A tile of c, TILE_ROWS × TILE_LANES registers of floats, stays in registers while k runs: every step loads a row of b
 * and multiplies it by one broadcast element of a for each row of the tile. */
#include "kernels/common/gemm/small_gemm.h"

#include "kernels/common/math/simd.h"

/* As many sums as fit in the registers beside a row of b and an element of a. */
#if ONS_REGISTER_BYTES == 64
enum { TILE_ROWS = 8, TILE_LANES = 2 };
#elif ONS_REGISTER_BYTES == 32
enum { TILE_ROWS = 6, TILE_LANES = 2 };
#else
enum { TILE_ROWS = 4, TILE_LANES = 2 };
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Steps `first` to `last` of k. `count`: floats in each of the lanes; all ONS_SIMD_FLOATS unless it is the last, narrow
 * column of tiles. */
ALWAYS_INLINE void multiply_tile(const ons_small_gemm *p, ons_small_matrix a, ons_small_matrix b, ons_small_matrix c,
                                 int64_t first, int64_t last, int rows, int lanes, int64_t count, bool transpose_a) {
    ons_simd_float sums[TILE_ROWS][TILE_LANES];
    int64_t a_row = transpose_a ? 1 : a.stride, a_step = transpose_a ? a.stride : 1;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int l = 0; l < lanes; ++l)
            sums[r][l] =
                p->add ? ons_simd_load_first(c.data + r * c.stride + l * ONS_SIMD_FLOATS, count) : (ons_simd_float){0};
    for (int64_t k = first; k < last; ++k) {
        ons_simd_float row[TILE_LANES];
#pragma GCC unroll 2
        for (int l = 0; l < lanes; ++l)
            row[l] = ons_simd_load_first(b.data + k * b.stride + l * ONS_SIMD_FLOATS, count);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
            for (int l = 0; l < lanes; ++l) sums[r][l] += a.data[r * a_row + k * a_step] * row[l];
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int l = 0; l < lanes; ++l)
            ons_simd_store_first(c.data + r * c.stride + l * ONS_SIMD_FLOATS, sums[r][l], count);
}

/* The tile of `rows` rows from `i`; b and c begin at its columns, which are those from `j`. */
ALWAYS_INLINE void multiply_some(const ons_small_gemm *p, ons_small_matrix a, ons_small_matrix b, ons_small_matrix c,
                                 int64_t i, int64_t j, int rows, int lanes, int64_t count, bool transpose_a) {
    int64_t first = 0, last = p->k, end = p->diagonal + i + rows; /* of what the tile's rows have */
    if (p->lower == ONS_RESULT_LOWER && j >= end) return;
    if (p->lower == ONS_LEFT_LOWER && transpose_a && i > p->diagonal) first = i - p->diagonal;
    if (p->lower == ONS_LEFT_LOWER && !transpose_a && end < last) last = end;
    a.data += i * (transpose_a ? 1 : a.stride);
    c.data += i * c.stride;
    /* Of a tile on the diagonal the first lanes may be all that is wanted. */
    if (lanes > 1 && p->lower == ONS_RESULT_LOWER && j + ONS_SIMD_FLOATS >= end)
        multiply_tile(p, a, b, c, first, last, rows, 1, count, transpose_a);
    else
        multiply_tile(p, a, b, c, first, last, rows, lanes, count, transpose_a);
}

/* Tiles of one width down all rows of c. */
ALWAYS_INLINE void multiply_rows(const ons_small_gemm *p, ons_small_matrix a, ons_small_matrix b, ons_small_matrix c,
                                 int64_t j, int lanes, int64_t count, bool transpose_a) {
    int64_t i = 0;
    b.data += j, c.data += j;
    /* Eight rows are two tiles of four: one of two has too few sums to keep the arithmetic units busy. */
    for (; i + TILE_ROWS <= p->m && (TILE_ROWS != 6 || i + 8 != p->m); i += TILE_ROWS)
        multiply_some(p, a, b, c, i, j, TILE_ROWS, lanes, count, transpose_a);
    for (; i + 4 <= p->m; i += 4) multiply_some(p, a, b, c, i, j, 4, lanes, count, transpose_a);
    for (; i + 2 <= p->m; i += 2) multiply_some(p, a, b, c, i, j, 2, lanes, count, transpose_a);
    if (i < p->m) multiply_some(p, a, b, c, i, j, 1, lanes, count, transpose_a);
}

ALWAYS_INLINE void multiply(const ons_small_gemm *p, ons_small_matrix a, ons_small_matrix b, ons_small_matrix c,
                            bool transpose_a) {
    int64_t j = 0;
    for (; j + TILE_LANES * ONS_SIMD_FLOATS <= p->n; j += TILE_LANES * ONS_SIMD_FLOATS)
        multiply_rows(p, a, b, c, j, TILE_LANES, ONS_SIMD_FLOATS, transpose_a);
    for (; j + ONS_SIMD_FLOATS <= p->n; j += ONS_SIMD_FLOATS)
        multiply_rows(p, a, b, c, j, 1, ONS_SIMD_FLOATS, transpose_a);
    if (j < p->n) multiply_rows(p, a, b, c, j, 1, p->n - j, transpose_a);
}

void ons_small_multiply(const ons_small_gemm *sizes, ons_small_matrix a, ons_small_matrix b, ons_small_matrix c) {
    if (sizes->transpose_a)
        multiply(sizes, a, b, c, true);
    else
        multiply(sizes, a, b, c, false);
}

/* Exchanges the off-diagonal blocks of 2 DISTANCE × 2 DISTANCE in two rows that lie DISTANCE apart. */
#if ONS_REGISTER_BYTES == 64
#define LANE_NUMBERS                                                                                                   \
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }
#elif ONS_REGISTER_BYTES == 32
#define LANE_NUMBERS                                                                                                   \
    { 0, 1, 2, 3, 4, 5, 6, 7 }
#else
#define LANE_NUMBERS                                                                                                   \
    { 0, 1, 2, 3 }
#endif
typedef int32_t lane_indices __attribute__((vector_size(ONS_SIMD_FLOATS * sizeof(int32_t))));

ALWAYS_INLINE void exchange(ons_simd_float *upper, ons_simd_float *lower, int distance) {
    const lane_indices lane = LANE_NUMBERS;
    lane_indices odd = (lane & distance) != 0; /* -1 or 0 */
    /* Indices below ONS_SIMD_FLOATS take from `upper`, the others from `lower`. */
    lane_indices from_upper = lane + (odd & (ONS_SIMD_FLOATS - distance));
    lane_indices from_lower = lane + (odd & ONS_SIMD_FLOATS) + (~odd & distance);
    ons_simd_float a = *upper, b = *lower;
#ifdef __clang__ /* has no shuffle by indices that are not constants */
    for (int i = 0; i < ONS_SIMD_FLOATS; ++i) {
        (*upper)[i] = from_upper[i] < ONS_SIMD_FLOATS ? a[from_upper[i]] : b[from_upper[i] - ONS_SIMD_FLOATS];
        (*lower)[i] = from_lower[i] < ONS_SIMD_FLOATS ? a[from_lower[i]] : b[from_lower[i] - ONS_SIMD_FLOATS];
    }
#else
    *upper = __builtin_shuffle(a, b, from_upper);
    *lower = __builtin_shuffle(a, b, from_lower);
#endif
}

static void transpose_square(const float *from, int64_t from_stride, float *to, int64_t to_stride) {
    ons_simd_float rows[ONS_SIMD_FLOATS];
#pragma GCC unroll 16
    for (int i = 0; i < ONS_SIMD_FLOATS; ++i) rows[i] = ons_simd_load(from + i * from_stride);
#pragma GCC unroll 4
    for (int distance = ONS_SIMD_FLOATS / 2; distance > 0; distance /= 2)
#pragma GCC unroll 16
        for (int i = 0; i < ONS_SIMD_FLOATS; ++i)
            if ((i & distance) == 0) exchange(&rows[i], &rows[i + distance], distance);
#pragma GCC unroll 16
    for (int i = 0; i < ONS_SIMD_FLOATS; ++i) ons_simd_store(to + i * to_stride, rows[i]);
}

void ons_small_transpose(int64_t rows, int64_t columns, ons_small_matrix from, ons_small_matrix to) {
    int64_t whole_rows = rows / ONS_SIMD_FLOATS * ONS_SIMD_FLOATS,
            whole_columns = columns / ONS_SIMD_FLOATS * ONS_SIMD_FLOATS;
    for (int64_t i = 0; i < whole_rows; i += ONS_SIMD_FLOATS)
        for (int64_t j = 0; j < whole_columns; j += ONS_SIMD_FLOATS)
            transpose_square(from.data + i * from.stride + j, from.stride, to.data + j * to.stride + i, to.stride);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
            to.data[j * to.stride + i] = from.data[i * from.stride + j];
}
