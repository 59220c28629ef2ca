#include "kernels/softmax/cuda_softmax_gradient.cuh"

extern "C" void ons_cuda_run_softmax_gradient(const ons_launch *launch) { ons::softmax_gradient(launch, false); }

ONS_KERNELS(cuda, softmax_gradient, ONS_KERNEL(ons_cuda_softmax_prepare, ons_cuda_run_softmax_gradient))
