/* MatMul on CUDA: what the host works out. */
#include "kernels/matmul/matmul.h"

#include "kernels/common/gemm/cuda_gemm.h"

static ons_status *matmul_cuda_prepare(ons_prepare *p) { return ons_cuda_gemm_prepare(p, &plain, false); }

ONS_CUDA_KERNEL(matmul, matmul_cuda_prepare)
