/* What replicas have added up, added up over them, each element in the order of the replicas. Bound by memory: every part is read once,
 * the sum is written once. */
#include "kernels/common/cuda_several.cuh"

extern "C" {
#include "kernels/common/part_sums.h"
}

namespace {

struct part_sum {
    void *result;
    const char *others;
    int64_t stride, elements;
    uint32_t parts, own, more;
    float factors[2];
    bool in_fours;
};

template <class T> __device__ void read_part(const part_sum &s, uint32_t part, int64_t at, int count, float (&to)[4]) {
    const char *from = s.others + s.stride * (int64_t)(part < s.own ? part : part - 1);
    ons::read_some(part == s.own ? (const T *)s.result : (const T *)from, at, count, s.in_fours, to);
}

template <class T> __global__ void add_parts(const __grid_constant__ ons::tensor_table<part_sum> table) {
    for (int64_t block = blockIdx.x; block < table.ends[table.count - 1]; block += gridDim.x) {
        int64_t chunk = block;
        const part_sum s = table.items[ons::find_tensor(table, chunk)];
        ons::each_four(chunk, s.elements, [&](int64_t at, int count) {
            float total[4], part[4];
            read_part<T>(s, 0, at, count, total);
            for (uint32_t k = 1; k < s.parts; ++k) {
                float factor = s.factors[k >= s.more];
                read_part<T>(s, k, at, count, part);
#pragma unroll
                for (int i = 0; i < 4; ++i) total[i] = ons::rounded<T>(total[i] * factor + part[i]);
            }
            ons::write_some((T *)s.result, at, count, s.in_fours, total);
        });
    }
}

part_sum describe(const ons_part_sum *s, size_t size) {
    part_sum t = {s->result, (const char *)s->others, s->stride, s->elements, s->parts, s->own, s->more, {s->factors[0], s->factors[1]}, false};
    t.in_fours = ons::is_aligned(t.result, 4 * size) && ons::is_aligned(t.others, 4 * size) && t.stride % (int64_t)(4 * size) == 0;
    return t;
}

/* Sums of this type; others are passed over. */
template <class T> void add(const ons_part_sum *sums, uint32_t count, ons_dtype dtype, uintptr_t stream) {
    ons_launch launch = {};
    launch.stream = stream;
    ons::tensor_table<part_sum> table = {};
    auto flush = [&] {
        ons::launch(&launch, add_parts<T>, ons::chunks_in(table), ons::CHUNK_THREADS, table);
        table.count = 0;
    };
    for (uint32_t i = 0; i < count; ++i) {
        if (sums[i].dtype != dtype || sums[i].parts == 0) continue;
        part_sum t = describe(&sums[i], sizeof(T));
        if (ons::add_tensor(&table, t, ons::chunks_of(t.elements))) continue;
        flush();
        ons::add_tensor(&table, t, ons::chunks_of(t.elements));
    }
    flush();
}

} // namespace

extern "C" void ons_cuda_add_parts(const ons_part_sum *sums, uint32_t count, uintptr_t stream) {
    add<float>(sums, count, ONS_FLOAT32, stream);
    add<__half>(sums, count, ONS_FLOAT16, stream);
    add<__nv_bfloat16>(sums, count, ONS_BFLOAT16, stream);
}
