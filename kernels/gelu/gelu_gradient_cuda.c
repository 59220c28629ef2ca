/* GeluGradient on CUDA: what the host works out. */
#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/gelu/gelu_formulas.h"

extern ons_run_function ons_cuda_run_gelu_gradient;

static ons_status *gelu_gradient_cuda_prepare(ons_prepare *p) {
    ONS_TRY(ons_cuda_float_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] = ons_gelu_by_tanh(p->operands) ? 1 : 0;
    return NULL;
}

ONS_KERNELS(cuda, gelu_gradient, ONS_KERNEL(gelu_gradient_cuda_prepare, ons_cuda_run_gelu_gradient))
