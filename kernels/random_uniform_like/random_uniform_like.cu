#include "kernels/random/cuda_random.cuh"

extern "C" void ons_cuda_run_random_uniform_like(const ons_launch *launch) { ons::fill_uniform(launch); }

ONS_KERNELS(cuda, random_uniform_like, ONS_KERNEL(ons_random_prepare, ons_cuda_run_random_uniform_like))
