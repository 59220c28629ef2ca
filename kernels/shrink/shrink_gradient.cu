#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(shrink_gradient, b<-parameters[0] || b> parameters[0] ? a : 0)

ONS_KERNELS(cuda, shrink_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_shrink_gradient))
