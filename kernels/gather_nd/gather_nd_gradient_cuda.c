/* GatherNDGradient on CUDA: what the host works out. */
#include "kernels/gather_nd/gather_nd_gradient_node.h"

extern ons_run_function ons_cuda_run_gather_nd_gradient;

ONS_KERNELS(cuda, gather_nd_gradient, ONS_KERNEL(ons_gather_nd_gradient_prepare, ons_cuda_run_gather_nd_gradient))
