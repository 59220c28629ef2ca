#include "kernels/common/cuda_separable.cuh"

extern "C" void ons_cuda_resize(const ons_launch *launch) { ons::map_axes(launch); }
