/* Many casts by one launch: of a model's weights to the type in which products read them, once a step. */
#ifndef ONSTAGE_KERNELS_CAST_CUDA_CAST_TENSORS_CUH
#define ONSTAGE_KERNELS_CAST_CUDA_CAST_TENSORS_CUH

#include "kernels/cast/cuda_conversion.cuh"
#include "kernels/common/cuda/cuda_multi_tensor.cuh"

namespace ons {

struct cast_tensor {
    const float *from;
    void *to;
    int64_t elements;
    bool in_fours;
};

template <class Out> __global__ void cast_tensors(const __grid_constant__ tensor_table<cast_tensor> table) {
    for (int64_t block = blockIdx.x; block < table.ends[table.count - 1]; block += gridDim.x) {
        int64_t chunk = block;
        const cast_tensor t = table.items[find_tensor(table, chunk)];
        each_four(chunk, t.elements, [&](int64_t at, int count) {
            float x[4];
            read_some(t.from, at, count, t.in_fours, x);
            write_some((Out *)t.to, at, count, t.in_fours, x);
        });
    }
}

inline bool casts(const ons_launch &l, ons_dtype from, ons_dtype to) {
    const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)l.state;
    return s->dtype == from && s->output_dtype == to;
}

/* Launches from float32 to this type; others are passed over. */
template <class Out> void cast_floats(const ons_launch *l, uint32_t count, ons_dtype to) {
    tensor_table<cast_tensor> table = {};
    auto flush = [&] {
        launch(l, cast_tensors<Out>, blocks_of(table), CHUNK_THREADS, table);
        table.count = 0;
    };
    for (uint32_t i = 0; i < count; ++i) {
        if (!casts(l[i], ONS_FLOAT32, to)) continue;
        cast_tensor t = {(const float *)l[i].inputs[0], l[i].outputs[0],
                         ((const ons_cuda_elementwise *)l[i].state)->elements, false};
        t.in_fours = is_aligned(t.from, 4 * sizeof(float)) && is_aligned(t.to, 4 * sizeof(Out));
        if (add_tensor(&table, t, chunks_of(t.elements))) continue;
        flush();
        add_tensor(&table, t, chunks_of(t.elements));
    }
    flush();
}

/* Casts between other types have a launch each. */
inline void cast_many(const ons_launch *l, uint32_t count) {
    cast_floats<__half>(l, count, ONS_FLOAT16);
    cast_floats<__nv_bfloat16>(l, count, ONS_BFLOAT16);
    for (uint32_t i = 0; i < count; ++i)
        if (!casts(l[i], ONS_FLOAT32, ONS_FLOAT16) && !casts(l[i], ONS_FLOAT32, ONS_BFLOAT16)) cast(&l[i]);
}

} // namespace ons

#endif
