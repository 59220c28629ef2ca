#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

__device__ inline float mish_slope(float x) {
    float t = tanhf(fmaxf(x, 0) + log1pf(expf(-fabsf(x)))), flat = (1 - t * t) / (1 + expf(-x));
    return flat == 0 ? t : t + x * flat;
}

} // namespace

ONS_CUDA_BINARY(mish_gradient, a *mish_slope(b))

ONS_KERNELS(cuda, mish_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_mish_gradient))
