#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

__device__ inline float swish_slope(float x, float alpha) {
    float s = 1 / (1 + expf(-alpha * x)), flat = s * (1 - s);
    return flat == 0 ? s : s + alpha * x * flat; /* not 0 times infinity far out */
}

} // namespace

ONS_CUDA_BINARY(swish_gradient, a *swish_slope(b, parameters[0]))

ONS_KERNELS(cuda, swish_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_swish_gradient))
