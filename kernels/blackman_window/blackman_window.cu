#include "kernels/common/cuda_constant.cuh"

extern "C" void ons_cuda_blackman_window(const ons_launch *launch) { ons::write_constant(launch); }
