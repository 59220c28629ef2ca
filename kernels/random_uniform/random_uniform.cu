#include "kernels/random/cuda_random.cuh"

extern "C" void ons_cuda_run_random_uniform(const ons_launch *launch) { ons::fill_uniform(launch); }

ONS_KERNELS(cuda, random_uniform, ONS_KERNEL(ons_random_prepare, ons_cuda_run_random_uniform))
