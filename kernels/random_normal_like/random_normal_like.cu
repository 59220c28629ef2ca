#include "kernels/common/cuda_random.cuh"

extern "C" void ons_cuda_random_normal_like(const ons_launch *launch) { ons::fill_normal(launch); }
