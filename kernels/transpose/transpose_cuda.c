/* Transpose on CUDA: what the host works out. */
#include "kernels/transpose/transpose.h"

ONS_CUDA_KERNEL(transpose, ons_transpose_prepare)
