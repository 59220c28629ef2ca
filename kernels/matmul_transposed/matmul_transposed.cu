#include "kernels/common/gemm/cuda_gemm.cuh"

extern "C" void ons_cuda_run_matmul_transposed(const ons_launch *launch) {
    ons::run_gemm((const ons_cuda_gemm_state *)launch->state, launch, nullptr);
}
