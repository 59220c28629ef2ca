#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY_NUMBERS(neg, -x)

ONS_KERNELS(cuda, neg, ONS_KERNEL(ons_cuda_number_prepare, ons_cuda_run_neg))
