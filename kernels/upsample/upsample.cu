extern "C" {
#include "kernels/resampling/resample.h"
}
#include "kernels/resampling/cuda_separable.cuh"

extern "C" void ons_cuda_run_upsample(const ons_launch *launch) { ons::map_axes(launch); }

ONS_KERNELS(cuda, upsample, ONS_KERNEL(ons_cuda_resize_prepare, ons_cuda_run_upsample))
