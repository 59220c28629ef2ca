/* GatherShardGradient on CUDA: what the host works out. */
#include "kernels/gather/gather_gradient.h"

ONS_CUDA_KERNEL(gather_shard_gradient, ons_gather_gradient_cuda_prepare)
