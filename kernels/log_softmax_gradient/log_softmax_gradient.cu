#include "kernels/common/cuda_softmax_gradient.cuh"

extern "C" void ons_cuda_log_softmax_gradient(const ons_launch *launch) { ons::softmax_gradient(launch, true); }
