/* ScatterElementsGradient on CUDA: what the host works out. */
#include "kernels/scatter_elements/scatter_elements_gradient_node.h"

extern ons_run_function ons_cuda_run_scatter_elements_gradient;

ONS_KERNELS(cuda, scatter_elements_gradient,
            ONS_KERNEL(ons_scatter_elements_gradient_prepare, ons_cuda_run_scatter_elements_gradient))
