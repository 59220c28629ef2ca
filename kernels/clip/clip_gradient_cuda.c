/* ClipGradient on CUDA: what the host works out. */
#include "kernels/common/elementwise/cuda_elementwise.h"

static ons_status *clip_gradient_cuda_prepare(ons_prepare *p) { return ons_cuda_leading_prepare(p, 2); }

ONS_CUDA_KERNEL(clip_gradient, clip_gradient_cuda_prepare)
