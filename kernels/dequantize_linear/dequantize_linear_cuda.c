/* DequantizeLinear on CUDA: what the host works out. */
#include "kernels/dequantize_linear/dequantize_linear_node.h"

static ons_status *dequantize_linear_prepare_cuda(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[X].dtype;
    bool words = dtype == ONS_INT16 || dtype == ONS_UINT16;
    return words ? ons_dequantize_linear_make_state(p) : ons_dequantize_linear_prepare(p);
}

ONS_CUDA_KERNEL(dequantize_linear, dequantize_linear_prepare_cuda)
