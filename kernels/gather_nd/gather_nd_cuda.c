/* GatherND on CUDA: what the host works out. */
#include "kernels/gather_nd/gather_nd_node.h"

extern ons_run_function ons_cuda_run_gather_nd;

ONS_KERNELS(cuda, gather_nd, ONS_KERNEL(ons_gather_nd_prepare, ons_cuda_run_gather_nd))
