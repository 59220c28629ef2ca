extern "C" {
#include "kernels/resampling/resample.h"
}
#include "kernels/resampling/cuda_separable.cuh"

extern "C" void ons_cuda_run_resize(const ons_launch *launch) { ons::map_axes(launch); }

ONS_KERNELS(cuda, resize, ONS_KERNEL(ons_cuda_resize_prepare, ons_cuda_run_resize))
