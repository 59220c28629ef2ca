/* Split on CUDA: what the host works out. */
#include "kernels/split/split.h"

extern ons_run_function ons_cuda_run_split;

ONS_KERNELS(cuda, split, ONS_KERNEL(ons_split_prepare, ons_cuda_run_split))
