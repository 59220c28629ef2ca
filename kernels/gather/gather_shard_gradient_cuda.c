/* GatherShardGradient on CUDA: GatherGradient's kernels. */
#include "kernels/gather/gather_gradient.h"

extern ons_run_function ons_cuda_run_gather_gradient;

ONS_KERNELS(cuda, gather_shard_gradient, ONS_KERNEL(ons_gather_gradient_cuda_prepare, ons_cuda_run_gather_gradient))
