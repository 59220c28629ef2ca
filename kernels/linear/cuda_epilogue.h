/* Products on CUDA with more than a bias: in the library's epilogue where it has that, otherwise by kernels of ours
 * behind the product, within the same node. The device's part is cuda_epilogue.cuh. */
#ifndef ONSTAGE_KERNELS_LINEAR_CUDA_EPILOGUE_H
#define ONSTAGE_KERNELS_LINEAR_CUDA_EPILOGUE_H

#include "kernels/common/gemm/cuda_gemm.h"
#include "kernels/reduction/cuda_reduction.h"

typedef struct ons_cuda_linear_gelu_node {
    ons_cuda_gemm_state gemm; /* first: it is what destroy gets */
    int64_t elements;         /* of the result */
    int64_t kept_at;          /* in the scratch: what goes into Gelu, where output 1 is left out and yet `keeps` */
} ons_cuda_linear_gelu_node;

/* Inputs x, w, bias; outputs gelu(x op(w) + bias) and, `keeps`, what goes into Gelu. */
ons_status *ons_cuda_linear_gelu_prepare(ons_prepare *p, const ons_gemm_form *form, bool keeps);
/* Inputs dy, w, x; output (dy op(w)) gelu′(x). */
ons_status *ons_cuda_linear_gelu_gradient_prepare(ons_prepare *p, const ons_gemm_form *form);

typedef struct ons_cuda_linear_add_node {
    ons_cuda_gemm_state gemm; /* first: it is what destroy gets */
    int64_t elements;         /* of the result */
    uint32_t added;           /* input; 3: input 2 is a bias */
} ons_cuda_linear_add_node;

/* Inputs x, w, a bias where `added` is 3, and what is added: the product begins from that where the library can. */
ons_status *ons_cuda_linear_add_prepare(ons_prepare *p, const ons_gemm_form *form, uint32_t added);

typedef struct ons_cuda_linear_weight_node {
    ons_cuda_gemm_state gemm;       /* first: it is what destroy gets */
    const ons_cuda_reduction *sums; /* of the columns of input `summed`, into output 1 */
    uint32_t summed;
} ons_cuda_linear_weight_node;

/* Outputs: the product, which reads input 0 transposed, and the sums of the columns of an input. */
ons_status *ons_cuda_linear_weight_gradient_prepare(ons_prepare *p, const ons_gemm_form *form, uint32_t summed);

#endif
