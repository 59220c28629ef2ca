/* SliceGradient on CUDA: what the host works out. */
#include "kernels/slice/slice_gradient.h"

extern ons_run_function ons_cuda_run_slice_gradient;

ONS_KERNELS(cuda, slice_gradient, ONS_KERNEL(ons_slice_gradient_prepare, ons_cuda_run_slice_gradient))
