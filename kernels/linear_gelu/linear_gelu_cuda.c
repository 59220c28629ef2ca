/* LinearGelu on CUDA: what the host works out. */
#include "kernels/linear/cuda_epilogue.h"
#include "kernels/linear/fully_connected.h"

enum { TRANSPOSE, KEEPS };

static ons_status *linear_gelu_cuda_prepare(ons_prepare *p) {
    ons_gemm_form form = ons_linear_form(p->operands);
    bool keeps = ons_attribute_int(p->operands, KEEPS) != 0 || ons_has_output(p->operands, 1);
    return ons_cuda_linear_gelu_prepare(p, &form, keeps);
}

ONS_CUDA_KERNEL(linear_gelu, linear_gelu_cuda_prepare)
