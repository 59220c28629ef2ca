/* SliceGradient on CUDA: what the host works out. */
#include "kernels/slice/slice_gradient.h"

ONS_CUDA_KERNEL(slice_gradient, ons_slice_gradient_prepare)
