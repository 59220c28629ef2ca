#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

/* With the sign of the divisor, that of zero too; like_dividend: of the dividend. In double, as the quotient of floats
 * can be far larger than a float counts. */
__device__ inline float rest_of(float a, float b, bool like_dividend) {
    double rest = fmod((double)a, (double)b);
    if (like_dividend || rest != rest) return (float)rest;
    if (rest == 0) return copysignf(0.0f, b);
    return (float)((rest < 0) != (b < 0) ? rest + b : rest);
}

/* A division by 0 gives 0, by -1 no overflow. */
__device__ inline int64_t rest_of(int64_t a, int64_t b, bool like_dividend) {
    if (b == 0 || b == -1) return 0;
    int64_t rest = a % b;
    return like_dividend || rest == 0 || (rest < 0) == (b < 0) ? rest : rest + b;
}

} // namespace

ONS_CUDA_BINARY_NUMBERS(mod, rest_of(a, b, parameters[0] != 0))
