/* What is done behind a product on CUDA where the library's epilogue does not. */
#ifndef ONSTAGE_KERNELS_LINEAR_CUDA_EPILOGUE_CUH
#define ONSTAGE_KERNELS_LINEAR_CUDA_EPILOGUE_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/gemm/cuda_gemm.cuh"
extern "C" {
#include "kernels/linear/cuda_epilogue.h"
}

namespace ons {

/* Whether the product does all of its node. */
inline bool in_epilogue(const ons_cuda_gemm_state *p) {
    return p->call.epilogue != ONS_CUDA_PLAIN && p->call.epilogue != ONS_CUDA_BIAS;
}

/* (1 + tanh u) / 2, the sigmoid of 2u, u as Gelu's formula with tanh has it. */
__device__ inline float gelu_share(float x) { return 1 / (1 + expf(-2 * 0.79788456f * (x + 0.044715f * (x * x * x)))); }

template <class T> struct apply_add {
    const T *from;
    T *to;
    __device__ void operator()(int64_t i) const { to[i] = narrow<T>(widen(to[i]) + widen(from[i])); }
};

template <class T> struct apply_gelu {
    const T *from;
    T *to;
    __device__ void operator()(int64_t i) const {
        float x = widen(from[i]);
        to[i] = narrow<T>(x * gelu_share(x));
    }
};

/* Where the share is 0 or 1 so is the slope; the product would be 0 times infinity far out. */
template <class T> struct apply_gelu_slope {
    const T *at;
    T *to;
    __device__ void operator()(int64_t i) const {
        float x = widen(at[i]), s = gelu_share(x), flat = s * (1 - s);
        float turn = 2 * 0.79788456f * (1 + 3 * 0.044715f * (x * x));
        to[i] = narrow<T>(widen(to[i]) * (flat == 0 ? s : s + x * flat * turn));
    }
};

} // namespace ons

#endif
