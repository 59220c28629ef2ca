/* GatherShardGradient on the CPU. */
#include "kernels/gather/gather_gradient.h"

ONS_KERNELS(cpu, gather_shard_gradient, ONS_KERNEL(ons_gather_gradient_prepare, ons_gather_gradient_run))
