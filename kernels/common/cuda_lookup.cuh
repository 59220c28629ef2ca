/* Index operands on CUDA: see lookup.h. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_LOOKUP_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_LOOKUP_CUH

#include "kernels/common/cuda.cuh"
extern "C" {
#include "kernels/common/lookup.h"
}

namespace ons {

constexpr int LOOKUP_THREADS = 256;

__device__ inline int64_t index_at(bool narrow, const void *indices, int64_t i) {
    return narrow ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];
}

/* In [0, length), or -1. */
__device__ inline int64_t resolve_index(int64_t index, int64_t length) {
    index += index < 0 ? length : 0;
    return index < 0 || index >= length ? -1 : index;
}

struct smaller {
    template <class T> __device__ T operator()(T a, T b) const { return a < b ? a : b; }
};

/* One block looks at all of them; the first that lies outside is noted, whatever order the threads come in. */
[[maybe_unused]] static __global__ void check_indices(bool narrow, const void *indices, int64_t count, int64_t length, const char *problem,
                                     ons_fault *fault) {
    int64_t worst = count;
    for (int64_t i = threadIdx.x; i < count && worst == count; i += LOOKUP_THREADS)
        if (resolve_index(index_at(narrow, indices, i), length) < 0) worst = i;
    worst = block_reduce<LOOKUP_THREADS>(worst, count, smaller());
    if (threadIdx.x == 0 && worst < count) note_fault(fault, problem, worst, index_at(narrow, indices, worst));
}

} // namespace ons

#endif
