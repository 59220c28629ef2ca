/* MatMulTransposed on CUDA: what the host works out. */
#include "kernels/matmul_transposed/matmul_transposed.h"

#include "kernels/common/gemm/cuda_gemm.h"
#include "kernels/common/gemm/gemm.h"

static ons_status *matmul_transposed_cuda_prepare(ons_prepare *p) {
    ons_gemm_form form = form_of(p->operands);
    return ons_cuda_gemm_prepare(p, &form, false);
}

ONS_CUDA_KERNEL(matmul_transposed, matmul_transposed_cuda_prepare)
