#include "kernels/signal/cuda_constant.cuh"

extern "C" void ons_cuda_run_hamming_window(const ons_launch *launch) { ons::write_constant(launch); }

ONS_KERNELS(cuda, hamming_window, ONS_KERNEL(ons_cuda_known_prepare, ons_cuda_run_hamming_window))
