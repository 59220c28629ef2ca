/* Linear on CUDA: what the host works out. */
#include "kernels/common/gemm/cuda_gemm.h"
#include "kernels/linear/fully_connected.h"

static ons_status *linear_cuda_prepare(ons_prepare *p) {
    ons_gemm_form form = ons_linear_form(p->operands);
    return ons_cuda_gemm_prepare(p, &form, true);
}

ONS_CUDA_KERNEL(linear, linear_cuda_prepare)
