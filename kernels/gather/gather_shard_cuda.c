/* GatherShard on CUDA: Gather's kernels. */
#include "kernels/gather/gather.h"

extern ons_run_function ons_cuda_run_gather;

ONS_KERNELS(cuda, gather_shard, ONS_KERNEL(ons_gather_prepare, ons_cuda_run_gather))
