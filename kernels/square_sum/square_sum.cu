#include "kernels/common/cuda/cuda_multi_tensor.cuh"
extern "C" {
#include "kernels/common/elementwise/cuda_elementwise.h"
}

namespace {

/* Of one tensor: a sum of each of its chunks, and of these. */
struct square_tensor {
    const void *x;
    double *sums, *total;
    int64_t elements;
    bool in_fours;
};

/* A thread adds up its fours in order, a block its threads' sums. */
template <class T> __global__ void square_chunks(const __grid_constant__ ons::tensor_table<square_tensor> table) {
    for (int64_t block = blockIdx.x; block < table.ends[table.count - 1]; block += gridDim.x) {
        int64_t chunk = block;
        const square_tensor t = table.items[ons::find_tensor(table, chunk)];
        double sum = 0;
        ons::each_four(chunk, t.elements, [&](int64_t at, int count) {
            float x[4];
            ons::read_some((const T *)t.x, at, count, t.in_fours, x);
#pragma unroll
            for (int i = 0; i < 4; ++i) sum += (double)x[i] * (double)x[i];
        });
        sum = ons::block_reduce<ons::CHUNK_THREADS>(sum, 0.0, ons::add());
        if (threadIdx.x == 0) t.sums[chunk] = sum;
    }
}

/* A block each tensor. */
__global__ void square_totals(const __grid_constant__ ons::tensor_table<square_tensor> table) {
    const square_tensor t = table.items[blockIdx.x];
    int64_t chunks = (t.elements + ons::CHUNK - 1) / ons::CHUNK;
    double sum = 0;
#pragma unroll 8
    for (int64_t i = threadIdx.x; i < chunks; i += ons::CHUNK_THREADS) sum += t.sums[i];
    sum = ons::block_reduce<ons::CHUNK_THREADS>(sum, 0.0, ons::add());
    if (threadIdx.x == 0) *t.total = sum;
}

/* Launches of this type; others are passed over. */
template <class T> void square_sums(const ons_launch *l, uint32_t count, ons_dtype dtype) {
    ons::tensor_table<square_tensor> table = {};
    auto flush = [&] {
        ons::launch(l, square_chunks<T>, ons::blocks_of(table), ons::CHUNK_THREADS, table);
        ons::launch(l, square_totals, table.count, ons::CHUNK_THREADS, table);
        table.count = 0;
    };
    for (uint32_t i = 0; i < count; ++i) {
        const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)l[i].state;
        if (s->dtype != dtype) continue;
        square_tensor t = {l[i].inputs[0], (double *)l[i].scratch, (double *)l[i].outputs[0], s->elements,
                           ons::is_aligned(l[i].inputs[0], 4 * sizeof(T))};
        if (ons::add_tensor(&table, t, ons::chunks_of(t.elements))) continue;
        flush();
        ons::add_tensor(&table, t, ons::chunks_of(t.elements));
    }
    flush();
}

} // namespace

extern "C" void ons_cuda_multi_tensor_square_sum(const ons_launch *launches, uint32_t count) {
    square_sums<float>(launches, count, ONS_FLOAT32);
    square_sums<__half>(launches, count, ONS_FLOAT16);
    square_sums<__nv_bfloat16>(launches, count, ONS_BFLOAT16);
}

extern "C" void ons_cuda_run_square_sum(const ons_launch *launch) { ons_cuda_multi_tensor_square_sum(launch, 1); }
