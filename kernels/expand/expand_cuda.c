/* Expand on CUDA: what the host works out. */
#include "kernels/expand/expand.h"

extern ons_run_function ons_cuda_run_expand;

ONS_KERNELS(cuda, expand, ONS_KERNEL(ons_expand_prepare, ons_cuda_run_expand))
