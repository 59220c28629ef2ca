/* Products of small matrices by one thread, for operands that stay in its cache (one head of attention): no
 * preparation, no memory, any leading dimensions. */
#ifndef ONSTAGE_KERNELS_COMMON_GEMM_SMALL_GEMM_H
#define ONSTAGE_KERNELS_COMMON_GEMM_SMALL_GEMM_H

#include <stdbool.h>
#include <stdint.h>

/* A row-major matrix; rows lie `stride` floats apart. */
typedef struct ons_small_matrix {
    float *data;
    int64_t stride;
} ons_small_matrix;

/* Row i of a lower matrix has nothing to look at beyond column diagonal + i: so it is with keys behind a query. */
typedef enum ons_small_lower {
    ONS_NONE_LOWER,
    ONS_LEFT_LOWER,   /* a, as it lies in memory: there are zeros beyond */
    ONS_RESULT_LOWER, /* c: what stands beyond may be written or not */
} ons_small_lower;

/* c = a b, or c += a b with `add`: c is m × n, b k × n, and a m × k, or k × m where it is given transposed. What a
 * lower matrix does not have is not computed, by whole tiles. */
typedef struct ons_small_gemm {
    int64_t m, n, k;
    bool transpose_a, add;
    ons_small_lower lower;
    int64_t diagonal; /* >= 0 */
} ons_small_gemm;
void ons_small_multiply(const ons_small_gemm *sizes, ons_small_matrix a, ons_small_matrix b, ons_small_matrix c);

/* to (columns × rows) = from (rows × columns) transposed. */
void ons_small_transpose(int64_t rows, int64_t columns, ons_small_matrix from, ons_small_matrix to);

#endif
