/* LinearGeluGradient on CUDA: what the host works out. */
#include "kernels/linear/cuda_epilogue.h"
#include "kernels/linear/fully_connected.h"

static ons_status *linear_gelu_gradient_cuda_prepare(ons_prepare *p) {
    ons_gemm_form form = ons_linear_form(p->operands);
    return ons_cuda_linear_gelu_gradient_prepare(p, &form);
}

ONS_CUDA_KERNEL(linear_gelu_gradient, linear_gelu_gradient_cuda_prepare)
