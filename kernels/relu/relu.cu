#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY_NUMBERS(relu, x < 0 ? W(0) : x)

ONS_KERNELS(cuda, relu, ONS_KERNEL(ons_cuda_number_prepare, ons_cuda_run_relu))
