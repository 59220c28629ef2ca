/* ScatterND on CUDA: what the host works out. */
#include "kernels/scatter_nd/scatter_nd_node.h"

extern ons_run_function ons_cuda_run_scatter_nd;

ONS_KERNELS(cuda, scatter_nd, ONS_KERNEL(ons_scatter_nd_prepare, ons_cuda_run_scatter_nd))
