/* Gather on CUDA: what the host works out. */
#include "kernels/gather/gather.h"

extern ons_run_function ons_cuda_run_gather;

ONS_KERNELS(cuda, gather, ONS_KERNEL(ons_gather_prepare, ons_cuda_run_gather))
