/* What a formula of an elementwise operator needs on the device, and nothing else: element types, reading, writing.
 *
 * The text of this file is compiled in two ways: by nvcc, for the operators' own kernels (cuda_elementwise.cuh), and at
 * run time, with the texts of the operators' .cu files, for chains of operators in one kernel
 * (kernels/fused_elementwise). There it stands in cuda_elementwise.cuh's place, so a formula is written once. NVRTC has
 * no headers, so what it lacks is said here. Both compile formulas without joining multiplications and additions
 * (-fmad=false): an operator's bits do not depend on what it is fused with.
 */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_CUDA_FORMULA_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_CUDA_FORMULA_CUH

#ifdef __CUDACC_RTC__

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807l
#define INT64_MIN (-INT64_MAX - 1)
#define UINT8_MAX 255
#define INFINITY  __int_as_float(0x7f800000)
#define NAN       __int_as_float(0x7fffffff)

/* As in cuda_fp16.h and cuda_bf16.h: rounded to the nearest, to even. */
struct __half {
    unsigned short bits;
};
struct __nv_bfloat16 {
    unsigned short bits;
};
__device__ inline float __half2float(__half x) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
    return result;
}
__device__ inline __half __float2half_rn(float x) {
    __half result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    return result;
}
__device__ inline float __bfloat162float(__nv_bfloat16 x) { return __uint_as_float((unsigned)x.bits << 16); }
__device__ inline __nv_bfloat16 __float2bfloat16_rn(float x) {
    __nv_bfloat16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    return result;
}

#else

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#endif

namespace ons {

__device__ inline int64_t global_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int64_t global_threads() { return (int64_t)gridDim.x * blockDim.x; }

/* --------------------------------------------------------------------------------------------------------- elements */

/* Half types are computed with in float, small integers and bool in int64. */

template <class T> struct working { typedef T type; };
template <> struct working<__half> { typedef float type; };
template <> struct working<__nv_bfloat16> { typedef float type; };
template <> struct working<int32_t> { typedef int64_t type; };
template <> struct working<uint8_t> { typedef int64_t type; };
template <class T> using work_t = typename working<T>::type;

template <class T> __device__ inline work_t<T> widen(T x) { return (work_t<T>)x; }
__device__ inline float widen(__half x) { return __half2float(x); }
__device__ inline float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T, class W> struct narrowing {
    __device__ static T of(W x) { return (T)x; }
};
template <class W> struct narrowing<__half, W> {
    __device__ static __half of(W x) { return __float2half_rn((float)x); }
};
template <class W> struct narrowing<__nv_bfloat16, W> {
    __device__ static __nv_bfloat16 of(W x) { return __float2bfloat16_rn((float)x); }
};
template <class T, class W> __device__ inline T narrow(W x) { return narrowing<T, W>::of(x); }

/* COUNT neighbouring elements that are moved by one access. */
template <class T, int COUNT> struct alignas(sizeof(T) * COUNT) pack { T at[COUNT]; };

/* What is left of a result in an operand of type T. */
template <class T, class W> __device__ inline work_t<T> rounded(W x) { return widen(narrow<T>((work_t<T>)x)); }

template <int COUNT, class T, class Index>
__device__ inline void read(const T *from, Index at, bool repeats, work_t<T> (&to)[COUNT]) {
    if (COUNT == 1 || repeats) {
        work_t<T> one = widen(from[at]);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) to[i] = one;
    } else {
        pack<T, COUNT> all = *reinterpret_cast<const pack<T, COUNT> *>(from + at);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) to[i] = widen(all.at[i]);
    }
}

template <int COUNT, class T, class Index, class W>
__device__ inline void write(T *to, Index at, const W (&from)[COUNT]) {
    pack<T, COUNT> all;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) all.at[i] = narrow<T>(from[i]);
    *reinterpret_cast<pack<T, COUNT> *>(to + at) = all;
}

constexpr int FORMULA_PARAMETERS = 4;

struct with_parameters {
    float parameters[FORMULA_PARAMETERS];
};

/* In place of an operand that the node leaves out. */
struct absent {};
__device__ inline float given(float operand, float otherwise) { return operand; }
__device__ inline float given(absent, float otherwise) { return otherwise; }

/* A truth value, where it matters that it is no number: as an element type of its own. */
struct truth {
    uint8_t value;
};
template <> struct working<truth> { typedef int64_t type; };
__device__ inline int64_t widen(truth x) { return x.value; }
template <class W> struct narrowing<truth, W> {
    __device__ static truth of(W x) { return {(uint8_t)(x != 0)}; }
};

} // namespace ons

/* A formula: an expression of x (or a and b) of type W, float for floats, int64_t for integers, which may use
 * const float *parameters. */
#define ONS_CUDA_FORMULA_ALONE(SYMBOL, ARGUMENTS, EXPRESSION)                                                          \
    namespace {                                                                                                        \
    struct SYMBOL##_formula : ons::with_parameters {                                                                   \
        template <class W> __device__ W operator() ARGUMENTS const { return (W)(EXPRESSION); }                         \
    };                                                                                                                 \
    }
#define ONS_CUDA_FORMULA(SYMBOL, ARGUMENTS, RUN, EXPRESSION) ONS_CUDA_FORMULA_ALONE(SYMBOL, ARGUMENTS, EXPRESSION)

/* One of these lines to a .cu file, with the symbol of the file's folder; tools/build/formulas.sh looks for them. */
#define ONS_CUDA_UNARY(SYMBOL, EXPRESSION)          ONS_CUDA_FORMULA(SYMBOL, (W x), unary_floats, EXPRESSION)
#define ONS_CUDA_UNARY_NUMBERS(SYMBOL, EXPRESSION)  ONS_CUDA_FORMULA(SYMBOL, (W x), unary_numbers, EXPRESSION)
#define ONS_CUDA_BINARY(SYMBOL, EXPRESSION)         ONS_CUDA_FORMULA(SYMBOL, (W a, W b), binary_floats, EXPRESSION)
#define ONS_CUDA_BINARY_NUMBERS(SYMBOL, EXPRESSION) ONS_CUDA_FORMULA(SYMBOL, (W a, W b), binary_numbers, EXPRESSION)
#define ONS_CUDA_VARIADIC(SYMBOL, EXPRESSION)       ONS_CUDA_FORMULA(SYMBOL, (W a, W b), variadic, EXPRESSION)
#define ONS_CUDA_COMPARISON(SYMBOL, EXPRESSION)     ONS_CUDA_FORMULA(SYMBOL, (W a, W b), comparison, EXPRESSION)
#define ONS_CUDA_LOGIC(SYMBOL, EXPRESSION)          ONS_CUDA_FORMULA(SYMBOL, (W a, W b), logic, EXPRESSION)
#define ONS_CUDA_TEST(SYMBOL, EXPRESSION)           ONS_CUDA_FORMULA(SYMBOL, (W x), test_floats, EXPRESSION)
#define ONS_CUDA_TERNARY(SYMBOL, EXPRESSION)        ONS_CUDA_FORMULA(SYMBOL, (W a, W b, W c), ternary_floats, EXPRESSION)

/* Formulas that no expression says: SYMBOL_formula stands in the file already and takes operands as they are, of
 * several types, ons::absent{} for those that are left out. TYPED: a template by the type of the result's elements, in
 * which a truth value is ons::truth. The file's own kernel, ons_cuda_SYMBOL, stands behind #ifdef ONS_CUDA_OWN_KERNELS.
 */
#define ONS_CUDA_MIXED(SYMBOL)
#define ONS_CUDA_TYPED(SYMBOL)

#endif
