/* Resize on CUDA. */
#include "kernels/resampling/cuda_separable.h"
#include "kernels/resampling/resample.h"

ONS_KERNELS(cuda, resize, ONS_KERNEL(ons_cuda_resize_prepare, ons_cuda_separable_run))
