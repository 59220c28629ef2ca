/* ScatterNDGradient on CUDA: what the host works out. */
#include "kernels/scatter_nd/scatter_nd_gradient_node.h"

extern ons_run_function ons_cuda_run_scatter_nd_gradient;

ONS_KERNELS(cuda, scatter_nd_gradient, ONS_KERNEL(ons_scatter_nd_gradient_prepare, ons_cuda_run_scatter_nd_gradient))
