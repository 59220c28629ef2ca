/* GatherElements on CUDA: what the host works out. */
#include "kernels/gather_elements/gather_elements_node.h"

extern ons_run_function ons_cuda_run_gather_elements;

ONS_KERNELS(cuda, gather_elements, ONS_KERNEL(ons_gather_elements_prepare, ons_cuda_run_gather_elements))
