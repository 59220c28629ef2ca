/* Upsample on CUDA. */
#include "kernels/resampling/cuda_separable.h"
#include "kernels/resampling/resample.h"

ONS_KERNELS(cuda, upsample, ONS_KERNEL(ons_cuda_resize_prepare, ons_cuda_separable_run))
