/* Matrix products on CUDA: MatMul, Gemm, Linear and their gradients in the terms of one library call.
 *
 * What a node needs is worked out here, in C, and tested with a plain loop in the library's place; the library itself
 * is behind three functions (product_cuda.c: cuBLASLt).
 */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_PRODUCT_H
#define ONSTAGE_KERNELS_COMMON_CUDA_PRODUCT_H

#include "kernels/common/product.h"

/* C[i] = alpha op(A[i]) op(B[i]) (+ C[i]) (+ bias), row by row in memory, densely. op(A[i]) is m × k, op(B[i]) k × n.
 */
typedef struct ons_cuda_gemm_call {
    ons_dtype dtype; /* of all operands: float32, float16 or bfloat16; sums are in float32 */
    bool tf32;       /* of float32: operands may be rounded */
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b;
    bool bias; /* a vector of n */
    bool adds;
    float alpha;
    int64_t alignment;       /* bytes, a power of two: of every operand's address; the workspace's is 256 */
    int64_t workspace_bytes; /* at most */
} ons_cuda_gemm_call;

typedef struct ons_cuda_plan ons_cuda_plan; /* the library's */

/* Weak: a build without CUDA has none of them. */
ons_status *ons_cuda_plan_new(const ons_cuda_gemm_call *gemm, ons_cuda_plan **plan) __attribute__((weak));
/* Bytes that a run needs: often fewer than it was allowed. */
int64_t ons_cuda_plan_workspace(const ons_cuda_plan *plan) __attribute__((weak));
void ons_cuda_plan_free(ons_cuda_plan *plan) __attribute__((weak));
void ons_cuda_plan_run(const ons_cuda_plan *plan, uintptr_t stream, const void *a, const void *b, const void *bias,
                       void *c, void *workspace) __attribute__((weak));

typedef struct ons_cuda_product {
    ons_cuda_plan *plan; /* NULL: nothing to multiply */
    ons_cuda_gemm_call gemm;
    int64_t each;                         /* how many calls: 1, or every matrix by itself */
    const int64_t *offsets_a, *offsets_b; /* then, in elements */
    int64_t output_bytes;
} ons_cuda_product;

/* Gemm: with beta C, read at row × row + column × column. */
typedef struct ons_cuda_gemm_node {
    ons_cuda_product product; /* first: it is what destroy gets */
    bool bias;                /* C is a row vector and part of the product */
    bool added;               /* beta C goes into the result first, and the product is added to it */
    float beta;
    int64_t rows, columns, row, column;
} ons_cuda_gemm_node;

/* The largest power of two, up to that of the arena, that divides `bytes`. */
int64_t ons_cuda_alignment_of(int64_t bytes);

/* Plans the product of inputs 0 and 1 into *product, which p->state begins with. `adds`: to what the output holds. */
ons_status *ons_cuda_product_plan(ons_prepare *p, const ons_product_form *form, bool bias, bool adds,
                                  ons_cuda_product *product);
/* The same with a state of its own. */
ons_status *ons_cuda_product_prepare(ons_prepare *p, const ons_product_form *form, bool bias);
/* Inputs 0 and 1, into output 0; `bias` NULL unless planned with one. */
void ons_cuda_product_run(const ons_cuda_product *product, const ons_launch *launch, const void *bias);

#endif
