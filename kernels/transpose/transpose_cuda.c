/* Transpose on CUDA: what the host works out. */
#include "kernels/transpose/transpose.h"

#include "kernels/common/layout/strided.h"

ONS_KERNELS(cuda, transpose, ONS_KERNEL(ons_transpose_prepare, ons_cuda_strided_run))
