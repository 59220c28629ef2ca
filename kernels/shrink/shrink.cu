#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(shrink, x<-parameters[0] ? x + parameters[1] : x> parameters[0] ? x - parameters[1] : 0)

ONS_KERNELS(cuda, shrink, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_shrink))
