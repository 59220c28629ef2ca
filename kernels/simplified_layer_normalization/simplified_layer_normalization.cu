extern "C" {
#include "kernels/normalization/rms_norm.h"
}
#include "kernels/normalization/cuda_norm.cuh"

extern "C" void ons_cuda_run_simplified_layer_normalization(const ons_launch *launch) { ons::run_rms_norm(launch); }

ONS_KERNELS(cuda, simplified_layer_normalization,
            ONS_KERNEL(ons_rms_norm_cuda_prepare, ons_cuda_run_simplified_layer_normalization))
