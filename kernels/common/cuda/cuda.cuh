/* What every CUDA kernel here shares: how it is launched, element types, sums over a block in fixed order.
 *
 * A .cu file holds the device's part of one operator and one function for the host, ons_cuda_SYMBOL, an
 * ons_run_function that puts its kernels on launch->stream. What it works from was prepared in C. It calls nothing but
 * the CUDA runtime, so that the same file compiles for the emulated GPU of tests/rooms/kernels/emulation.
 *
 * Nothing here adds by atomic operations: the same sizes give the same order of additions, whatever else the GPU does.
 */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_CUDA_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_CUDA_CUH

#include "kernels/common/cuda/cuda_formula.cuh"

extern "C" {
#include "kernels/common/cuda/cuda_prepare.h"
#include "kernels/common/operator/kernel.h"
}

namespace ons {

constexpr int WARP = 32;
constexpr int64_t MOST_BLOCKS = 1 << 20;

template <class T> struct same { typedef T type; };

/* Puts a kernel on the launch's stream. What fails is told by the device's `failure`. */
template <class... Formal>
inline void launch(const ons_launch *l, void (*kernel)(Formal...), int64_t blocks, int threads,
                   typename same<Formal>::type... arguments) {
    if (blocks <= 0) return;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS));
    config.blockDim = dim3((unsigned)threads);
    config.stream = (cudaStream_t)l->stream;
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* Blocks of `threads` for `items`; kernels go on with a stride where there are more than MOST_BLOCKS. */
inline int64_t blocks_for(int64_t items, int threads) { return (items + threads - 1) / threads; }

inline bool is_aligned(const void *address, size_t bytes) { return (uintptr_t)address % bytes == 0; }

/* Calls `FUNCTION<T>(…)` for the dtype of floats; the host has refused others. */
#define ONS_CUDA_FLOAT_DISPATCH(DTYPE, FUNCTION, ...)                                                                  \
    switch (DTYPE) {                                                                                                   \
    case ONS_FLOAT16: FUNCTION<__half>(__VA_ARGS__); break;                                                            \
    case ONS_BFLOAT16: FUNCTION<__nv_bfloat16>(__VA_ARGS__); break;                                                    \
    default: FUNCTION<float>(__VA_ARGS__); break;                                                                      \
    }

/* Calls `FUNCTION<unit>(…)` with an unsigned type of that size: elements are moved, not looked at. */
#define ONS_CUDA_UNIT_DISPATCH(SIZE, FUNCTION, ...)                                                                    \
    switch (SIZE) {                                                                                                    \
    case 1: FUNCTION<uint8_t>(__VA_ARGS__); break;                                                                     \
    case 2: FUNCTION<uint16_t>(__VA_ARGS__); break;                                                                    \
    case 4: FUNCTION<uint32_t>(__VA_ARGS__); break;                                                                    \
    default: FUNCTION<uint64_t>(__VA_ARGS__); break;                                                                   \
    }

/* For states of ons_cuda_prepare_typed: calls `FUNCTION<T>(launch, state)`. */
#define ONS_CUDA_TYPED_DISPATCH(STATE, FUNCTION, LAUNCH)                                                               \
    do {                                                                                                               \
        const ons_cuda_typed *typed_state = (const ons_cuda_typed *)(LAUNCH)->state;                                   \
        ONS_CUDA_FLOAT_DISPATCH(typed_state->dtype, FUNCTION, LAUNCH, (const STATE *)typed_state->state)               \
    } while (0)

/* COUNT elements as they lie in memory. Of 16 bytes words are kept: where elements of half types are read, the compiler
 * takes them apart at once, and so waits for what is not needed yet. */
template <class T, int COUNT, bool WORDS = COUNT * sizeof(T) == 16> struct raw_pack {
    pack<T, COUNT> all;
    __device__ void unpack(float (&to)[COUNT]) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) to[i] = widen(all.at[i]);
    }
};
template <class T, int COUNT> struct alignas(16) raw_pack<T, COUNT, true> {
    uint32_t words[4];
    __device__ void unpack(float (&to)[COUNT]) const {
        constexpr int IN_WORD = COUNT / 4;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            T value;
            if constexpr (IN_WORD == 1) {
                memcpy(&value, &words[i], sizeof value);
            } else {
                uint16_t half = (uint16_t)(words[i / IN_WORD] >> 16 * (i % IN_WORD));
                memcpy(&value, &half, sizeof value);
            }
            to[i] = widen(value);
        }
    }
};

template <int COUNT, class T> __device__ inline raw_pack<T, COUNT> read_raw(const T *from, int64_t at) {
    return *reinterpret_cast<const raw_pack<T, COUNT> *>(from + at);
}

/* ------------------------------------------------------------------------------------------------------- reductions */

/* Over a warp each lane exchanges with the lane 16, 8, 4, 2, 1 away; over a block so do the results of its warps. */

struct add {
    template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct larger {
    /* A NaN stays. */
    template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; }
};

template <class T, class F> __device__ inline T warp_reduce(T x, F f) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, distance));
    return x;
}

/* Every thread gets the result. THREADS: of the block, a multiple of 32. */
template <int THREADS, class T, class F> __device__ inline T block_reduce(T x, T identity, F f) {
    __shared__ T of_warp[THREADS / WARP];
    x = warp_reduce(x, f);
    if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = x;
    __syncthreads();
    T total = threadIdx.x % WARP < THREADS / WARP ? of_warp[threadIdx.x % WARP] : identity;
    total = warp_reduce(total, f);
    __syncthreads(); /* of_warp may be written again */
    return total;
}

/* ----------------------------------------------------------------------------------------------------------- faults */

/* Where the kernels of a node tell a fault, and which fault of which node it is. The text is the host's, which alone
 * reads it: a literal in a kernel would lie in the GPU's memory. */
struct fault_place {
    ons_fault *fault;
    uint64_t node_key;
    const char *problem;
};
inline fault_place fault_of(const ons_launch *l, const char *problem) { return {l->fault, l->node_key, problem}; }

/* By one thread: notes a fault unless there is one. classes > 0: how many the value should be one of. */
__device__ inline void note_fault(const fault_place &place, int64_t index, int64_t value, int64_t classes = 0) {
    ons_fault *fault = place.fault;
    if (fault == nullptr || fault->problem != nullptr) return;
    fault->index = index;
    fault->value = value;
    fault->classes = classes;
    fault->node_key = place.node_key;
    fault->problem = place.problem;
}

} // namespace ons

#endif
