#include "kernels/common/cuda_random.cuh"

extern "C" void ons_cuda_random_uniform_like(const ons_launch *launch) { ons::fill_uniform(launch); }
