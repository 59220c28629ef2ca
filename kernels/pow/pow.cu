#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

/* The exponent may be of another type; an integer to the power of a float goes through double. */
struct pow_formula : ons::with_parameters {
    template <class B> __device__ float operator()(float a, B b) const { return powf(a, (float)b); }
    __device__ int64_t operator()(int64_t a, float b) const { return (int64_t)pow((double)a, (double)b); }
};

} // namespace

ONS_CUDA_MIXED(pow)

#ifdef ONS_CUDA_OWN_KERNELS

namespace {

template <class A, class B> void raise(const ons_launch *l) { ons::run_2<A, A, B>(l, ons::formula<pow_formula>(l)); }

void raise_float32(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->second_dtype) {
    case ONS_FLOAT64: raise<float, double>(l); break;
    case ONS_INT64: raise<float, int64_t>(l); break;
    case ONS_UINT64: raise<float, uint64_t>(l); break;
    case ONS_INT32: raise<float, int32_t>(l); break;
    default: raise<float, float>(l); break;
    }
}

} // namespace

/* pow.c has refused all other pairs of types. */
extern "C" void ons_cuda_run_pow(const ons_launch *launch) {
    switch (((const ons_cuda_elementwise *)launch->state)->dtype) {
    case ONS_FLOAT16: raise<__half, __half>(launch); break;
    case ONS_BFLOAT16: raise<__nv_bfloat16, __nv_bfloat16>(launch); break;
    case ONS_INT64: raise<int64_t, float>(launch); break;
    case ONS_INT32: raise<int32_t, float>(launch); break;
    default: raise_float32(launch); break;
    }
}

#endif
