/* LinearAdd on CUDA: what the host works out. */
#include "kernels/linear/cuda_epilogue.h"
#include "kernels/linear/linear_add.h"

static ons_status *linear_add_cuda_prepare(ons_prepare *p) {
    ons_gemm_form form = ons_linear_form(p->operands);
    return ons_cuda_linear_add_prepare(p, &form, ons_linear_added(p->operands));
}

ONS_CUDA_KERNEL(linear_add, linear_add_cuda_prepare)
