/* Matrix products, batched and transposed, for MatMul, Gemm and their gradients.
 *
 * Everything becomes C[i] = alpha × op(A[i]) op(B[i]) (+ bias) over a batch of matrices, with as few and as large
 * matrices as the shapes allow: a product with one shared right-hand matrix is a single one with the batch folded into
 * the rows.
 */
#ifndef ONSTAGE_KERNELS_COMMON_GEMM_GEMM_H
#define ONSTAGE_KERNELS_COMMON_GEMM_GEMM_H

#include "kernels/common/onednn/onednn.h"
#include "kernels/common/operator/kernel.h"

/* How the operands are to be read. */
typedef struct ons_product_form {
    bool transpose_a, transpose_b; /* the last two dims change places */
    bool fold;                     /* all dims but the last are rows of one matrix, in both operands */
    double alpha;
} ons_product_form;

typedef struct ons_product_sizes {
    int64_t batch, m, n, k; /* op(A[i]) is m × k, op(B[i]) is k × n */
    ons_shape batch_shape;  /* of the result, before folding */
    bool broadcast;         /* A or B repeats over the batch in a way that folding cannot express */
} ons_product_sizes;

/* Sizes and the result's shape; fails where the operands do not fit. A rank of 1 is numpy's: a row on the left, a
 * column on the right, absent from the result. */
ons_status *ons_product_resolve(const ons_operands *o, const ons_shape *a, const ons_shape *b,
                                const ons_product_form *form, ons_product_sizes *sizes, ons_shape *result);

typedef struct ons_product {
    ons_dnnl primitive; /* first: ons_dnnl_destroy is the destroy function */
    enum { ONS_PRODUCT_EMPTY, ONS_PRODUCT_PRIMITIVE, ONS_PRODUCT_SGEMM, ONS_PRODUCT_EACH } way;
    ons_product_sizes sizes;
    ons_product_form form;
    int threads;
    const int64_t *offsets_a, *offsets_b; /* ONS_PRODUCT_EACH: of the matrices of every result, in elements */
} ons_product;

/* `bias`: a vector of n is added to every row. `beta`: the result is added to what C holds already (excludes bias). */
ons_status *ons_product_prepare(ons_prepare *p, const ons_shape *a, const ons_shape *b, const ons_product_form *form,
                                bool bias, bool beta, ons_product *product);

/* Sizes and, where every matrix is multiplied by itself (ONS_PRODUCT_EACH), offsets; nothing of a library's. `way` is
 * otherwise ONS_PRODUCT_EMPTY or ONS_PRODUCT_SGEMM. */
ons_status *ons_product_plan(ons_prepare *p, const ons_shape *a, const ons_shape *b, const ons_product_form *form,
                             ons_product *product);

/* `bias` NULL unless prepared with one. */
void ons_product_run(const ons_product *product, const float *a, const float *b, const float *bias, float beta,
                     float *c, const ons_launch *launch);

/* 2 m n k over the batch. */
double ons_product_flops(const ons_product_sizes *sizes);

/* In double, for references. */
void ons_product_reference(const ons_operands *o, const ons_shape *a_shape, const ons_shape *b_shape,
                           const ons_product_form *form, const double *a, const double *b, double *c);
/* The same for integers, which wrap around in 64 bits. */
void ons_product_reference_integer(const ons_operands *o, const ons_shape *a_shape, const ons_shape *b_shape,
                                   const ons_product_form *form, const int64_t *a, const int64_t *b, int64_t *c);

#endif
