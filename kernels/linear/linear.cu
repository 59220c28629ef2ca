#include "kernels/common/gemm/cuda_gemm.cuh"

extern "C" void ons_cuda_run_linear(const ons_launch *launch) {
    ons::run_gemm((const ons_cuda_gemm_state *)launch->state, launch, launch->inputs[2]);
}
