/* Transpose on CUDA: what the host works out. */
#include "kernels/transpose/transpose.h"

extern ons_run_function ons_cuda_run_transpose;

ONS_KERNELS(cuda, transpose, ONS_KERNEL(ons_transpose_prepare, ons_cuda_run_transpose))
