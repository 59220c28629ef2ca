#include "kernels/common/cuda_softmax_gradient.cuh"

extern "C" void ons_cuda_softmax_gradient(const ons_launch *launch) { ons::softmax_gradient(launch, false); }
