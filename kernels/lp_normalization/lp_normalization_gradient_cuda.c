/* LpNormalizationGradient on CUDA: what the host works out. */
#include "kernels/lp_normalization/lp_normalization_gradient.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_lp_normalization_gradient;

static ons_status *lp_normalization_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, ons_lp_normalization_gradient_prepare);
}

ONS_KERNELS(cuda, lp_normalization_gradient,
            ONS_KERNEL(lp_normalization_gradient_prepare_cuda, ons_cuda_run_lp_normalization_gradient))
