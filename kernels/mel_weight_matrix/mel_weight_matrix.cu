#include "kernels/common/cuda_constant.cuh"

extern "C" void ons_cuda_mel_weight_matrix(const ons_launch *launch) { ons::write_constant(launch); }
