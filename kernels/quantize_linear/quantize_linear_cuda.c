/* QuantizeLinear on CUDA: what the host works out. */
#include "kernels/quantize_linear/quantize_linear_node.h"

ONS_CUDA_KERNEL(quantize_linear, ons_quantize_linear_prepare)
