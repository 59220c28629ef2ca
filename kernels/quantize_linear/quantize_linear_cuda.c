/* QuantizeLinear on CUDA: what the host works out. */
#include "kernels/quantize_linear/quantize_linear_node.h"

extern ons_run_function ons_cuda_run_quantize_linear;

ONS_KERNELS(cuda, quantize_linear, ONS_KERNEL(ons_quantize_linear_prepare, ons_cuda_run_quantize_linear))
