#include "kernels/random/cuda_random.cuh"

extern "C" void ons_cuda_run_random_normal(const ons_launch *launch) { ons::fill_normal(launch); }

ONS_KERNELS(cuda, random_normal, ONS_KERNEL(ons_random_prepare, ons_cuda_run_random_normal))
