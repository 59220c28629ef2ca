#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

/* Where the sigmoid s of 2u is 0 or 1 so is the slope; the product would be 0 times infinity far out. */
__device__ inline float gelu_slope(float x, bool by_tanh) {
    if (!by_tanh) return 0.5f * (1 + erff(x * 0.70710678f)) + x * expf(-0.5f * x * x) * 0.39894228f;
    float s = 1 / (1 + expf(-2 * 0.79788456f * (x + 0.044715f * (x * x * x))));
    float turn = 2 * 0.79788456f * (1 + 3 * 0.044715f * (x * x)), flat = s * (1 - s);
    return flat == 0 ? s : s + x * flat * turn;
}

} // namespace

ONS_CUDA_BINARY(gelu_gradient, a *gelu_slope(b, parameters[0] != 0))
