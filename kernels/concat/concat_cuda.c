/* Concat on CUDA: what the host works out. */
#include "kernels/concat/concat.h"

extern ons_run_function ons_cuda_run_concat;

ONS_KERNELS(cuda, concat, ONS_KERNEL(ons_concat_prepare, ons_cuda_run_concat))
