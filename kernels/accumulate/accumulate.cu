#include "kernels/common/cuda/cuda_multi_tensor.cuh"
extern "C" {
#include "kernels/accumulate/cuda_accumulate.h"
}

namespace {

struct accumulate_tensor {
    const void *sum, *summand;
    void *result;
    int64_t elements;
    bool in_fours;
};

/* The first micro-batch copies: whatever lies in the sum is not read into it. */
template <class T, class S>
__global__ void accumulate_tensors(const __grid_constant__ ons::tensor_table<accumulate_tensor> table,
                                   const ons_step *step) {
    bool first = step->micro_batch == step->first_micro_batch;
    for (int64_t block = blockIdx.x; block < table.ends[table.count - 1]; block += gridDim.x) {
        int64_t chunk = block;
        const accumulate_tensor t = table.items[ons::find_tensor(table, chunk)];
        ons::each_four(chunk, t.elements, [&](int64_t at, int count) {
            float a[4], b[4];
            ons::read_some((const S *)t.summand, at, count, t.in_fours, b);
            if (!first) {
                ons::read_some((const T *)t.sum, at, count, t.in_fours, a);
#pragma unroll
                for (int i = 0; i < 4; ++i) b[i] = a[i] + b[i];
            }
            ons::write_some((T *)t.result, at, count, t.in_fours, b);
        });
    }
}

/* Launches of these types, of sum and summand; others are passed over. */
template <class T, class S>
void accumulate(const ons_launch *l, uint32_t count, ons_dtype dtype, ons_dtype summand_dtype) {
    ons::tensor_table<accumulate_tensor> table = {};
    auto flush = [&] {
        ons::launch(l, accumulate_tensors<T, S>, ons::blocks_of(table), ons::CHUNK_THREADS, table, l->device_step);
        table.count = 0;
    };
    for (uint32_t i = 0; i < count; ++i) {
        const ons_cuda_accumulation *s = (const ons_cuda_accumulation *)l[i].state;
        if (s->dtype != dtype || s->summand_dtype != summand_dtype) continue;
        accumulate_tensor t = {l[i].inputs[0], l[i].inputs[1], l[i].outputs[0], s->elements, false};
        t.in_fours = ons::is_aligned(t.sum, 4 * sizeof(T)) && ons::is_aligned(t.summand, 4 * sizeof(S)) &&
                     ons::is_aligned(t.result, 4 * sizeof(T));
        if (ons::add_tensor(&table, t, ons::chunks_of(t.elements))) continue;
        flush();
        ons::add_tensor(&table, t, ons::chunks_of(t.elements));
    }
    flush();
}

} // namespace

extern "C" void ons_cuda_multi_tensor_accumulate(const ons_launch *launches, uint32_t count) {
    accumulate<float, float>(launches, count, ONS_FLOAT32, ONS_FLOAT32);
    accumulate<float, __half>(launches, count, ONS_FLOAT32, ONS_FLOAT16);
    accumulate<float, __nv_bfloat16>(launches, count, ONS_FLOAT32, ONS_BFLOAT16);
    accumulate<__half, __half>(launches, count, ONS_FLOAT16, ONS_FLOAT16);
    accumulate<__nv_bfloat16, __nv_bfloat16>(launches, count, ONS_BFLOAT16, ONS_BFLOAT16);
}

extern "C" void ons_cuda_run_accumulate(const ons_launch *launch) { ons_cuda_multi_tensor_accumulate(launch, 1); }

ONS_KERNELS(cuda, accumulate,
            ONS_MULTI_TENSOR_KERNEL(ons_cuda_accumulate_prepare, ons_cuda_run_accumulate,
                                    ons_cuda_multi_tensor_accumulate))
