/* Matrix products on CUDA: MatMul, Gemm, Linear and their gradients in the terms of one library call.
 *
 * What a node needs is worked out here, in C, and tested with a plain loop in the library's place; the library itself
 * is behind three functions (cublaslt.c: cuBLASLt).
 */
#ifndef ONSTAGE_KERNELS_COMMON_GEMM_CUDA_GEMM_H
#define ONSTAGE_KERNELS_COMMON_GEMM_CUDA_GEMM_H

#include "kernels/common/gemm/gemm.h"

/* What is done beside a product while its operands or its result are at hand. */
typedef enum ons_cuda_epilogue {
    ONS_CUDA_PLAIN,
    ONS_CUDA_BIAS,           /* a vector of n is added */
    ONS_CUDA_BIAS_GELU,      /* then Gelu by the formula with tanh, in float32 before anything is rounded */
    ONS_CUDA_BIAS_GELU_KEEP, /* what goes into Gelu is written, too: m × n */
    ONS_CUDA_GELU_SLOPE,     /* times the slope of that Gelu at m × n numbers */
    ONS_CUDA_SUMS_OF_A,      /* beside the product the sums of op(A)'s rows, over k: a vector of m; batch 1 */
    ONS_CUDA_SUMS_OF_B,      /* those of op(B)'s columns: a vector of n; batch 1 */
} ons_cuda_epilogue;

/* Where the matrices of one operand lie: elements from row to row, and from one matrix of the batch to the next. 0:
 * they are dense. */
typedef struct ons_cuda_matrix_steps {
    int64_t row, matrix;
} ons_cuda_matrix_steps;

/* C[i] = alpha op(A[i]) op(B[i]) (+ D[i]), row by row in memory, with an epilogue. op(A[i]) is m × k, op(B[i]) k × n; D
 * may be C, and lies as C does.
 */
typedef struct ons_cuda_gemm_call {
    ons_dtype dtype; /* of all operands: float32, float16 or bfloat16; sums are in float32 */
    bool full;       /* C is float32 whatever the others are; PLAIN alone */
    bool tf32;       /* of float32: operands may be rounded */
    int64_t batch, m, n, k;
    ons_cuda_matrix_steps a, b, c; /* other than dense: PLAIN alone */
    bool transpose_a, transpose_b;
    ons_cuda_epilogue epilogue;
    bool adds; /* D; PLAIN and BIAS alone */
    float alpha;
    int64_t alignment;       /* bytes, a power of two: of every operand's address; the workspace's is 256 */
    int64_t workspace_bytes; /* at most */
} ons_cuda_gemm_call;

typedef struct ons_cuda_gemm_memory {
    const void *a, *b;
    const void *d; /* NULL: what C holds, or nothing is added */
    void *c;
    void *vector; /* a bias, which is read, or sums, which are written; otherwise NULL */
    void *matrix; /* what goes into Gelu: written by KEEP, read by SLOPE; otherwise NULL */
    void *workspace;
} ons_cuda_gemm_memory;

typedef struct ons_cuda_plan ons_cuda_plan; /* the library's */

/* ONS_UNSUPPORTED where the library has no algorithm. */
ons_status *ons_cuda_plan_new(const ons_cuda_gemm_call *gemm, ons_cuda_plan **plan);
/* Bytes that a run needs: often fewer than it was allowed. */
int64_t ons_cuda_plan_workspace(const ons_cuda_plan *plan);
void ons_cuda_plan_free(ons_cuda_plan *plan);
/* By one thread at a time: the first run may have to find out which of the library's algorithms can be launched. */
void ons_cuda_plan_run(ons_cuda_plan *plan, uintptr_t stream, const ons_cuda_gemm_memory *memory);

typedef struct ons_cuda_gemm_state {
    ons_cuda_plan *plan; /* NULL: nothing to multiply */
    ons_cuda_gemm_call call;
    int64_t each;                         /* how many calls: 1, or every matrix by itself */
    const int64_t *offsets_a, *offsets_b; /* of every matrix, in elements, where each is a call of its own */
    int64_t output_bytes;
} ons_cuda_gemm_state;

/* Gemm: with beta C, read at row × row + column × column. */
typedef struct ons_cuda_gemm_node {
    ons_cuda_gemm_state gemm; /* first: it is what destroy gets */
    bool bias;                /* C is a row vector and part of the product */
    bool added;               /* beta C goes into the result first, and the product is added to it */
    float beta;
    int64_t rows, columns, row, column;
} ons_cuda_gemm_node;

/* Bytes that the library may have beside a product of so many operations. */
int64_t ons_cuda_workspace(double flops);

/* The largest power of two, up to that of the arena, that divides `bytes`. */
int64_t ons_cuda_alignment_of(int64_t bytes);

/* Plans the product of inputs 0 and 1 into *gemm, which p->state begins with. `adds`: to what the output holds. */
ons_status *ons_cuda_gemm_plan(ons_prepare *p, const ons_gemm_form *form, ons_cuda_epilogue epilogue, bool adds,
                               ons_cuda_gemm_state *gemm);
/* ons_cuda_gemm_plan with `epilogue` and `adds` where the library has that, otherwise with `otherwise` (PLAIN or BIAS),
 * and nothing is added: which of them, gemm->call says. Products over nothing have no epilogue, and add nothing. */
ons_status *ons_cuda_gemm_plan_or(ons_prepare *p, const ons_gemm_form *form, ons_cuda_epilogue epilogue,
                                  ons_cuda_epilogue otherwise, bool adds, ons_cuda_gemm_state *gemm);
/* ons_cuda_gemm_plan with a state of its own, and no epilogue but the bias. */
ons_status *ons_cuda_gemm_prepare(ons_prepare *p, const ons_gemm_form *form, bool bias);
/* Inputs 0 and 1, into `c`; `vector` and `matrix` as the epilogue has them; `added`: NULL for what `c` holds. */
void ons_cuda_gemm_run(const ons_cuda_gemm_state *gemm, const ons_launch *launch, void *c, const void *vector,
                       const void *matrix, const void *added);

#endif
