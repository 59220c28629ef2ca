#include "kernels/common/cuda_norm.cuh"

extern "C" void ons_cuda_simplified_layer_normalization(const ons_launch *launch) { ons::run_rms_norm(launch); }
