/* CastLike on CUDA: what the host works out. */
#include "kernels/common/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_cast_like;

ONS_KERNELS(cuda, cast_like, ONS_KERNEL(ons_cuda_cast_prepare, ons_cuda_run_cast_like))
