/* GlobalLpPoolGradient on CUDA: what the host works out. */
#include "kernels/global_lp_pool/global_lp_pool_gradient.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_global_lp_pool_gradient;

static ons_status *global_lp_pool_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, ons_global_lp_pool_gradient_prepare);
}

ONS_KERNELS(cuda, global_lp_pool_gradient,
            ONS_KERNEL(global_lp_pool_gradient_prepare_cuda, ons_cuda_run_global_lp_pool_gradient))
