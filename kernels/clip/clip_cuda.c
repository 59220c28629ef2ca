/* Clip on CUDA: what the host works out. */
#include "kernels/common/elementwise/cuda_elementwise.h"

static ons_status *clip_cuda_prepare(ons_prepare *p) { return ons_cuda_leading_prepare(p, 1); }

ONS_CUDA_KERNEL(clip, clip_cuda_prepare)
