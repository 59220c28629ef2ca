/* Matrix products, batched and transposed, for MatMul, Gemm and their gradients.
 *
 * Everything becomes C[i] = alpha × op(A[i]) op(B[i]) (+ bias) over a batch of matrices, with as few and as large
 * matrices as the shapes allow: a product with one shared right-hand matrix is a single one with the batch folded into
 * the rows.
 */
#ifndef ONSTAGE_KERNELS_COMMON_GEMM_GEMM_H
#define ONSTAGE_KERNELS_COMMON_GEMM_GEMM_H

#include "kernels/common/choice/choices.h"
#include "kernels/common/layout/strided.h"
#include "kernels/common/onednn/onednn.h"
#include "kernels/common/operator/kernel.h"

/* How the operands are to be read. */
typedef struct ons_gemm_form {
    bool transpose_a, transpose_b; /* the last two dims change places */
    bool fold;                     /* all dims but the last are rows of one matrix, in both operands */
    bool adds;                     /* something is added to the result, as the last thing */
    double alpha;
    int64_t row_a; /* of a single matrix: elements from one row of A, as it lies in memory, to the next; 0: a row's */
} ons_gemm_form;

typedef struct ons_gemm_sizes {
    int64_t batch, m, n, k; /* op(A[i]) is m × k, op(B[i]) is k × n */
    ons_shape batch_shape;  /* of the result, before folding */
    bool broadcast;         /* A or B repeats over the batch in a way that folding cannot express */
} ons_gemm_sizes;

/* Sizes and the result's shape; fails where the operands do not fit. A rank of 1 is numpy's: a row on the left, a
 * column on the right, absent from the result. */
ons_status *ons_gemm_resolve(const ons_operands *o, const ons_shape *a, const ons_shape *b, const ons_gemm_form *form,
                             ons_gemm_sizes *sizes, ons_shape *result);

typedef struct ons_gemm {
    ons_onednn primitive; /* first: ons_onednn_destroy is the destroy function */
    bool empty;           /* nothing to multiply */
    bool adds_behind;     /* what the form adds: by a loop, not by the primitive */
    ons_way way;
    ons_gemm_sizes sizes;
    ons_gemm_form form;
    int threads;
    const int64_t *offsets_a, *offsets_b; /* ONS_PRODUCT_EACH: of the matrices of every result, in elements */
    const ons_strided *turn;              /* ONS_PRODUCT_TURNED: from Cᵀ, which lies in scratch, to C */
} ons_gemm;

/* `bias`: a vector of n is added to every row. `beta`: the result is added to what C holds already (excludes bias).
 * form->adds: see ons_gemm_run_adding. */
ons_status *ons_gemm_prepare(ons_prepare *p, const ons_shape *a, const ons_shape *b, const ons_gemm_form *form,
                             bool bias, bool beta, ons_gemm *gemm);

/* Sizes and, where every matrix must be multiplied by itself, offsets, NULL otherwise; nothing of a library's. */
ons_status *ons_gemm_plan(ons_prepare *p, const ons_shape *a, const ons_shape *b, const ons_gemm_form *form,
                          ons_gemm *gemm);

/* `bias` NULL unless prepared with one. */
void ons_gemm_run(const ons_gemm *gemm, const float *a, const float *b, const float *bias, float beta, float *c,
                  const ons_launch *launch);

/* For a product that was prepared with form.adds: what is added to the result and its bias, as large as the result. */
void ons_gemm_run_adding(const ons_gemm *gemm, const float *a, const float *b, const float *bias, const float *added,
                         float *c, const ons_launch *launch);

/* 2 m n k over the batch. */
double ons_gemm_flops(const ons_gemm_sizes *sizes);

/* In double, for references. */
void ons_gemm_reference(const ons_operands *o, const ons_shape *a_shape, const ons_shape *b_shape,
                        const ons_gemm_form *form, const double *a, const double *b, double *c);
/* ons_gemm_reference of integers, which wrap around in 64 bits. */
void ons_gemm_reference_integer(const ons_operands *o, const ons_shape *a_shape, const ons_shape *b_shape,
                                const ons_gemm_form *form, const int64_t *a, const int64_t *b, int64_t *c);

#endif
