#include "kernels/common/cuda_separable.cuh"

extern "C" void ons_cuda_upsample(const ons_launch *launch) { ons::map_axes(launch); }
