/* ScatterNDGradient on CUDA: what the host works out. */
#include "kernels/scatter_nd/scatter_nd_gradient_node.h"

ONS_CUDA_KERNEL(scatter_nd_gradient, ons_scatter_nd_gradient_prepare)
