/* SliceGradient on CUDA: what the host works out. */
#include "kernels/slice/slicing.h"

ONS_CUDA_KERNEL(slice_gradient, ons_slice_gradient_prepare)
