/* LpNormalizationGradient on CUDA: what the host works out. */
#include "kernels/lp_normalization/lp_normalization_gradient.h"

#include "kernels/common/cuda/cuda_prepare.h"

ONS_CUDA_TYPED_KERNEL(lp_normalization_gradient, ons_lp_normalization_gradient_prepare)
