#include "kernels/softmax/cuda_softmax_gradient.cuh"

extern "C" void ons_cuda_run_log_softmax_gradient(const ons_launch *launch) { ons::softmax_gradient(launch, true); }

ONS_KERNELS(cuda, log_softmax_gradient, ONS_KERNEL(ons_cuda_softmax_prepare, ons_cuda_run_log_softmax_gradient))
