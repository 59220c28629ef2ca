/* ScatterND on CUDA: what the host works out. */
#include "kernels/scatter_nd/scatter_nd_node.h"

ONS_CUDA_KERNEL(scatter_nd, ons_scatter_nd_prepare)
