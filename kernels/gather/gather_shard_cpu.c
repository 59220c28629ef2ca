/* GatherShard on the CPU. */
#include "kernels/gather/gather.h"

ONS_KERNELS(cpu, gather_shard, ONS_KERNEL(ons_gather_prepare, ons_gather_run))
