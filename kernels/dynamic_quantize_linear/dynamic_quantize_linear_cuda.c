/* DynamicQuantizeLinear on CUDA: what the host works out. */
#include "kernels/common/elementwise/cuda_elementwise.h"

/* Scratch: scale and zero point. */
static ons_status *dynamic_quantize_linear_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_cuda_flat_prepare(p));
    p->scratch_bytes = 64;
    return NULL;
}

ONS_CUDA_KERNEL(dynamic_quantize_linear, dynamic_quantize_linear_prepare_cuda)
