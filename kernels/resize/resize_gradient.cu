#include "kernels/resampling/cuda_separable.cuh"

extern "C" void ons_cuda_run_resize_gradient(const ons_launch *launch) { ons::map_axes(launch); }
