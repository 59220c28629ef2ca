/* ClipGradient on CUDA: what the host works out. */
#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_clip_gradient;

static ons_status *clip_gradient_cuda_prepare(ons_prepare *p) { return ons_cuda_leading_prepare(p, 2); }

ONS_KERNELS(cuda, clip_gradient, ONS_KERNEL(clip_gradient_cuda_prepare, ons_cuda_run_clip_gradient))
