/* GatherElementsGradient on CUDA: what the host works out. */
#include "kernels/gather_elements/gather_elements_gradient_node.h"

extern ons_run_function ons_cuda_run_gather_elements_gradient;

ONS_KERNELS(cuda, gather_elements_gradient,
            ONS_KERNEL(ons_gather_elements_gradient_prepare, ons_cuda_run_gather_elements_gradient))
