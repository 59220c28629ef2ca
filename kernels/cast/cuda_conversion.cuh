/* Conversion between element types on CUDA: see conversion.h for what becomes of what does not fit. */
#ifndef ONSTAGE_KERNELS_CAST_CUDA_CONVERSION_CUH
#define ONSTAGE_KERNELS_CAST_CUDA_CONVERSION_CUH

#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace ons {

/* From a float to the range of an integer type, towards zero; a NaN gives 0. */
__device__ inline int64_t whole(float x, int64_t least, int64_t most) {
    if (x != x) return 0;
    if (x >= (float)most) return most;
    return x <= (float)least ? least : (int64_t)x;
}

template <class Out> struct conversion {
    template <class W> __device__ static work_t<Out> of(W x) { return (work_t<Out>)x; }
};
template <> struct conversion<int64_t> {
    __device__ static int64_t of(int64_t x) { return x; }
    __device__ static int64_t of(float x) { return whole(x, INT64_MIN, INT64_MAX); }
};
template <> struct conversion<int32_t> {
    __device__ static int64_t of(int64_t x) { return (int32_t)x; }
    __device__ static int64_t of(float x) { return whole(x, INT32_MIN, INT32_MAX); }
};
template <> struct conversion<uint8_t> {
    __device__ static int64_t of(int64_t x) { return (uint8_t)x; }
    __device__ static int64_t of(float x) { return whole(x, 0, UINT8_MAX); }
};
template <> struct conversion<truth> {
    template <class W> __device__ static int64_t of(W x) { return x != 0; }
};

template <class Out> struct cast_formula : with_parameters {
    template <class W> __device__ work_t<Out> operator()(W x) const { return conversion<Out>::of(x); }
};

#ifdef ONS_CUDA_OWN_KERNELS

template <class Out, class In> void cast_between(const ons_launch *l) {
    run_1<Out, In>(l, formula<cast_formula<Out>>(l));
}

template <class Out> void cast_to(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->dtype) {
    case ONS_FLOAT16: cast_between<Out, __half>(l); break;
    case ONS_BFLOAT16: cast_between<Out, __nv_bfloat16>(l); break;
    case ONS_INT64: cast_between<Out, int64_t>(l); break;
    case ONS_INT32: cast_between<Out, int32_t>(l); break;
    case ONS_UINT8: cast_between<Out, uint8_t>(l); break;
    case ONS_BOOL: cast_between<Out, truth>(l); break;
    default: cast_between<Out, float>(l); break;
    }
}

inline void cast(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->output_dtype) {
    case ONS_FLOAT16: cast_to<__half>(l); break;
    case ONS_BFLOAT16: cast_to<__nv_bfloat16>(l); break;
    case ONS_INT64: cast_to<int64_t>(l); break;
    case ONS_INT32: cast_to<int32_t>(l); break;
    case ONS_UINT8: cast_to<uint8_t>(l); break;
    case ONS_BOOL: cast_to<truth>(l); break;
    default: cast_to<float>(l); break;
    }
}

#endif

} // namespace ons

#endif
