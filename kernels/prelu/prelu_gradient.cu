#include "kernels/common/elementwise/cuda_elementwise.cuh"

/* Of cotangent, operand and slope. */
ONS_CUDA_TERNARY(prelu_gradient, b > 0 ? a : a * c)

ONS_KERNELS(cuda, prelu_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_prelu_gradient))
