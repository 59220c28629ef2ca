/* Concat on CUDA: what the host works out. */
#include "kernels/concat/concat.h"

ONS_CUDA_KERNEL(concat, ons_concat_prepare)
