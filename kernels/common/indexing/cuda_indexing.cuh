/* Index operands on CUDA: see indexing.h. */
#ifndef ONSTAGE_KERNELS_COMMON_INDEXING_CUDA_INDEXING_CUH
#define ONSTAGE_KERNELS_COMMON_INDEXING_CUDA_INDEXING_CUH

#include "kernels/common/cuda/cuda.cuh"
extern "C" {
#include "kernels/common/indexing/indexing.h"
}

namespace ons {

constexpr int INDEXING_THREADS = 256;
constexpr int64_t CHECKING_BLOCKS = 256;

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

/* By all threads of all blocks, of INDEXING_THREADS: the first of `count` numbers that is_wrong. It is told to the
 * block that found it, in every thread; others get `count`. So one block notes it, in whatever order they come: a block
 * that has found a wrong number looks through all before it, which costs nothing where nothing is wrong. */
template <class F> __device__ inline int64_t first_wrong(int64_t count, F is_wrong) {
    int64_t mine = count, before = count;
    for (int64_t i = global_thread(); i < count && mine == count; i += global_threads())
        if (is_wrong(i)) mine = i;
    mine = block_reduce<INDEXING_THREADS>(mine, count, smaller());
    if (mine == count || gridDim.x == 1) return mine;
    for (int64_t i = threadIdx.x; i < mine && before == count; i += INDEXING_THREADS)
        if (is_wrong(i)) before = i;
    return block_reduce<INDEXING_THREADS>(before, count, smaller()) < mine ? count : mine;
}

/* Of a kernel that calls first_wrong. */
inline int64_t blocks_to_check(int64_t count) {
    int64_t blocks = blocks_for(count, INDEXING_THREADS);
    return blocks < CHECKING_BLOCKS ? blocks : CHECKING_BLOCKS;
}

/* The first that lies outside is noted. */
[[maybe_unused]] static __global__ void check_indices(bool narrow, const void *indices, int64_t count, int64_t length,
                                                      fault_place fault) {
    int64_t worst =
        first_wrong(count, [&](int64_t i) { return resolve_index(index_at(narrow, indices, i), length) < 0; });
    if (threadIdx.x == 0 && worst < count) note_fault(fault, worst, index_at(narrow, indices, worst));
}

} // namespace ons

#endif
