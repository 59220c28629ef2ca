/* Slice on CUDA: what the host works out. */
#include "kernels/slice/slice.h"

ONS_CUDA_KERNEL(slice, ons_slice_prepare)
