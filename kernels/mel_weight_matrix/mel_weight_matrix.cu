#include "kernels/signal/cuda_constant.cuh"

extern "C" void ons_cuda_run_mel_weight_matrix(const ons_launch *launch) { ons::write_constant(launch); }

ONS_KERNELS(cuda, mel_weight_matrix, ONS_KERNEL(ons_cuda_known_prepare, ons_cuda_run_mel_weight_matrix))
