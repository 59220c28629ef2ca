/* ScatterElementsGradient on CUDA: what the host works out. */
#include "kernels/scatter_elements/scatter_elements_gradient_node.h"

ONS_CUDA_KERNEL(scatter_elements_gradient, ons_scatter_elements_gradient_prepare)
