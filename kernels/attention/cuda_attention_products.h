/* Attention by matrix products, where no library has a kernel for all of it: scores are in memory, of some matrices at
 * a time, and kernels of ours turn them into probabilities and gradients between the products. A matrix is a head of a
 * sample. */
#ifndef ONSTAGE_KERNELS_ATTENTION_CUDA_ATTENTION_PRODUCTS_H
#define ONSTAGE_KERNELS_ATTENTION_CUDA_ATTENTION_PRODUCTS_H

#include "kernels/attention/attention_operands.h"
#include "kernels/common/gemm/cuda_gemm.h"

/* Which matrices of the operands lie at even distances, so that one call multiplies them. */
typedef enum ons_attention_batch {
    ONS_ATTENTION_ALL,     /* all of them */
    ONS_ATTENTION_HEADS,   /* those of one sample */
    ONS_ATTENTION_SAMPLES, /* those of one head */
} ons_attention_batch;

/* [matrices, queries, keys] are float32 where they are scores, and of the operands' type where they are multiplied. */
typedef struct ons_attention_products {
    ons_cuda_plan *scores;              /* Q Kᵀ; NULL: there are no products, and the others are NULL too */
    ons_cuda_plan *result;              /* P V, forwards */
    ons_cuda_plan *slopes;              /* dY Vᵀ; this and the others backwards */
    ons_cuda_plan *query, *key, *value; /* dS K, dSᵀ Q, Pᵀ dY */
    ons_attention_batch batch;
    int64_t matrices;                      /* at a time, of those that lie at even distances */
    int64_t scores_at, slopes_at;          /* bytes into the scratch: float32 */
    int64_t weights_at, score_gradient_at; /* of the operands' type: P and dS */
    int64_t workspace_at;                  /* the library's */
} ons_attention_products;

/* Plans them behind the scratch that p asks for by now. Where operands do not lie in rows, or the library or memory
 * does not suffice, there are none, which is no failure. */
ons_status *ons_attention_products_prepare(ons_prepare *p, const ons_attention *attention, ons_dtype dtype,
                                           bool gradient, ons_attention_products *products);
void ons_attention_products_free(ons_attention_products *products);

#endif
