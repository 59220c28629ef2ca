/* LinearWeightGradient on CUDA: what the host works out. */
#include "kernels/linear/linear_weight_gradient.h"

#include "kernels/linear/cuda_epilogue.h"

static ons_status *linear_weight_gradient_cuda_prepare(ons_prepare *p) {
    return ons_cuda_linear_weight_gradient_prepare(p, &form, (uint32_t)ons_attribute_int(p->operands, SUMMED));
}

ONS_CUDA_KERNEL(linear_weight_gradient, linear_weight_gradient_cuda_prepare)
