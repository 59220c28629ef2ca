/* LpNormalization on CUDA: what the host works out. */
#include "kernels/lp_normalization/lp_normalization_node.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_lp_normalization;

static ons_status *lp_normalization_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, ons_lp_normalization_prepare);
}

ONS_KERNELS(cuda, lp_normalization, ONS_KERNEL(lp_normalization_prepare_cuda, ons_cuda_run_lp_normalization))
