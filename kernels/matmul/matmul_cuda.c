/* MatMul on CUDA: what the host works out. */
#include "kernels/matmul/matmul.h"

#include "kernels/common/gemm/cuda_gemm.h"

extern ons_run_function ons_cuda_run_matmul;

static ons_status *matmul_cuda_prepare(ons_prepare *p) { return ons_cuda_gemm_prepare(p, &plain, false); }

ONS_KERNELS(cuda, matmul, ONS_KERNEL(matmul_cuda_prepare, ons_cuda_run_matmul))
