#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

/* x Φ(x) exactly, as 1 + erf, which is shorter than erfc: where Φ is small only its absolute error is; with tanh (1 +
 * tanh u) / 2 is the sigmoid of 2u. */
__device__ inline float gelu_of(float x, bool by_tanh) {
    if (!by_tanh) return 0.5f * x * (1 + erff(x * 0.70710678f));
    return x / (1 + expf(-2 * 0.79788456f * (x + 0.044715f * (x * x * x))));
}

} // namespace

ONS_CUDA_UNARY(gelu, gelu_of(x, parameters[0] != 0))
