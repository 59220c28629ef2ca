/* Trilu on CUDA: what the host works out. */
#include "kernels/trilu/trilu_node.h"

extern ons_run_function ons_cuda_run_trilu;

ONS_KERNELS(cuda, trilu, ONS_KERNEL(ons_trilu_prepare, ons_cuda_run_trilu))
