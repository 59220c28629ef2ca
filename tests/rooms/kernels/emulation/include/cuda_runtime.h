/* A GPU of one multiprocessor, emulated: what the .cu files of kernels/ need of the CUDA runtime, for the host's
 * compiler.
 *
 * Blocks run one after the other; the threads of a block are fibers that change at barriers and shuffles alone, from
 * the first to the last or, in every second block, from the last to the first, so that a missing barrier shows as other
 * bits. A barrier that not all threads reach ends the program with a message. It is slow, and says nothing about speed.
 */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_INCLUDE_CUDA_RUNTIME_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_INCLUDE_CUDA_RUNTIME_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <functional>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __forceinline__ inline

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
extern dim3 gridDim, blockDim, blockIdx, threadIdx;

typedef struct emulated_stream *cudaStream_t;
typedef int cudaError_t;

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
};

namespace emulation {
/* At once, or as ons_emulation_kernels or ons_emulation_put says. */
cudaError_t launch(const cudaLaunchConfig_t *config, const void *const *arguments, const size_t *sizes, int count,
                   std::function<void()> work);
cudaError_t fill(void *memory, int value, size_t bytes, cudaStream_t stream);
cudaError_t copy(void *to, const void *from, size_t bytes, cudaStream_t stream);
void run(dim3 grid, dim3 block, const std::function<void()> &thread);
void block_barrier();
void warp_barrier();
int block_any(int condition);
extern uint64_t exchanged[1024]; /* what each thread of the block hands out */
} // namespace emulation

template <class... Formal, class... Actual>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Formal...), Actual... arguments) {
    dim3 grid = config->gridDim, block = config->blockDim;
    const void *const list[] = {(const void *)&arguments..., NULL};
    const size_t sizes[] = {sizeof(Actual)..., 0};
    return emulation::launch(config, list, sizes, sizeof...(Actual),
                             [=] { emulation::run(grid, block, [&] { kernel(Formal(arguments)...); }); });
}

inline cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    return emulation::fill(memory, value, bytes, stream);
}

enum cudaMemcpyKind { cudaMemcpyDeviceToDevice };
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    return emulation::copy(to, from, bytes, stream);
}

inline void __syncthreads() { emulation::block_barrier(); }
inline int __syncthreads_or(int condition) { return emulation::block_any(condition); }
inline void __syncwarp() { emulation::warp_barrier(); }

/* The value of another lane of the warp. */
template <class T> T emulated_shuffle(T value, unsigned lane) {
    static_assert(sizeof(T) <= 8, "shuffles move words");
    unsigned thread = threadIdx.x;
    memcpy(&emulation::exchanged[thread], &value, sizeof value);
    emulation::warp_barrier();
    T result;
    memcpy(&result, &emulation::exchanged[thread / 32 * 32 + lane], sizeof result);
    emulation::warp_barrier(); /* nobody overwrites it before all have read */
    return result;
}
template <class T> T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulated_shuffle(value, threadIdx.x % 32 ^ (unsigned)mask);
}
template <class T> T __shfl_sync(unsigned, T value, int lane) { return emulated_shuffle(value, (unsigned)lane); }

/* A bit for each lane of the warp that has the same value. */
template <class T> unsigned __match_any_sync(unsigned, T value) {
    static_assert(sizeof(T) <= 8, "words are compared");
    unsigned thread = threadIdx.x, same = 0;
    emulation::exchanged[thread] = 0;
    memcpy(&emulation::exchanged[thread], &value, sizeof value);
    emulation::warp_barrier();
    for (unsigned lane = 0; lane < 32; ++lane)
        if (emulation::exchanged[thread / 32 * 32 + lane] == emulation::exchanged[thread]) same |= 1u << lane;
    emulation::warp_barrier(); /* nobody overwrites it before all have read */
    return same;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

/* One thread runs at a time. */
inline unsigned long long atomicMax(unsigned long long *at, unsigned long long value) {
    unsigned long long before = *at;
    if (value > before) *at = value;
    return before;
}

inline float rsqrtf(float x) { return 1 / sqrtf(x); }

#endif
