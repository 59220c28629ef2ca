/* Many tensors by one launch: a table of them is the kernel's argument, and a block finds its own, which is a chunk of
 * one of them.
 *
 * A chunk is always the same part of its tensor, whatever else is in the table, and its elements are worked on in the
 * same way, so that tensors have the bits that a launch of their own gives them. Chunks are read four elements at a
 * time where the tensor's memory allows.
 */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_CUDA_MULTI_TENSOR_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_CUDA_MULTI_TENSOR_CUH

#include "kernels/common/cuda/cuda.cuh"
extern "C" {
#include "kernels/common/cuda/multi_tensor.h"
}

namespace ons {

constexpr int64_t CHUNK = ONS_CUDA_CHUNK; /* elements */
constexpr int CHUNK_THREADS = 256;
constexpr int64_t CHUNK_BLOCKS = 2048; /* as many as keep a GPU busy; each begins with what is worth doing once */
constexpr int TABLE_BYTES = 3584;      /* with the other arguments, less than what a kernel takes everywhere */

/* Item: what a kernel needs of one tensor. MOST: of them, at most. */
template <class Item> struct tensor_table {
    static constexpr int MOST = TABLE_BYTES / (int)(sizeof(Item) + sizeof(int64_t));
    Item items[MOST];
    int64_t ends[MOST]; /* chunks of this tensor and all before it */
    int count;
};

inline int64_t chunks_of(int64_t elements) { return (elements + CHUNK - 1) / CHUNK; }

/* False: the table is full. */
template <class Item> bool add_tensor(tensor_table<Item> *table, const Item &item, int64_t chunks) {
    if (table->count == tensor_table<Item>::MOST) return false;
    table->items[table->count] = item;
    table->ends[table->count] = chunks + (table->count > 0 ? table->ends[table->count - 1] : 0);
    ++table->count;
    return true;
}

/* Blocks for the table's chunks. */
template <class Item> int64_t blocks_of(const tensor_table<Item> &table) {
    int64_t chunks = table.count > 0 ? table.ends[table.count - 1] : 0;
    return chunks < CHUNK_BLOCKS ? chunks : CHUNK_BLOCKS;
}

/* Whose chunk number `chunk` of the table is; `chunk` becomes its number within the tensor. */
template <class Item> __device__ inline int find_tensor(const tensor_table<Item> &table, int64_t &chunk) {
    int low = 0, high = table.count - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (chunk < table.ends[middle])
            high = middle;
        else
            low = middle + 1;
    }
    if (low > 0) chunk -= table.ends[low - 1];
    return low;
}

/* Up to four elements from `at` on, of which `count` are there. */
template <class T>
__device__ inline void read_some(const T *from, int64_t at, int count, bool in_fours, float (&to)[4]) {
    if (in_fours && count == 4) {
        read<4>(from, at, false, to);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = i < count ? widen(from[at + i]) : 0.0f;
}

template <class T>
__device__ inline void write_some(T *to, int64_t at, int count, bool in_fours, const float (&from)[4]) {
    if (in_fours && count == 4) {
        write<4>(to, at, from);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (i < count) to[at + i] = narrow<T>(from[i]);
}

/* Calls f(at, count) for this thread's fours of a chunk of a tensor of `elements`. */
template <class F> __device__ inline void each_four(int64_t chunk, int64_t elements, const F &f) {
    int64_t begin = chunk * CHUNK, end = begin + CHUNK < elements ? begin + CHUNK : elements;
    for (int64_t at = begin + 4 * (int64_t)threadIdx.x; at < end; at += 4 * CHUNK_THREADS)
        f(at, end - at < 4 ? (int)(end - at) : 4);
}

} // namespace ons

#endif
