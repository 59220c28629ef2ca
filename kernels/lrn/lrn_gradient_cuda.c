/* LRNGradient on CUDA: what the host works out. */
#include "kernels/lrn/lrn_gradient.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_lrn_gradient;

static ons_status *lrn_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, ons_lrn_gradient_prepare);
}

ONS_KERNELS(cuda, lrn_gradient, ONS_KERNEL(lrn_gradient_prepare_cuda, ons_cuda_run_lrn_gradient))
