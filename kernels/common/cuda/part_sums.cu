/* What replicas have added up, added up over them, each element in the order of the replicas. Bound by memory: every
 * part is read once, the sum is written once. */
#include "kernels/common/cuda/cuda_multi_tensor.cuh"

extern "C" {
#include "kernels/common/cuda/part_sums.h"
}

namespace {

struct part_sum_item {
    void *result;
    const char *others;
    int64_t stride, elements;
    uint32_t parts, own, more;
    float factor, last_factor; /* of parts before `more`, and of the others */
    bool in_fours;
};

template <class T>
__device__ void read_part(const part_sum_item &s, uint32_t part, int64_t at, int count, float (&to)[4]) {
    const char *from = s.others + s.stride * (int64_t)(part < s.own ? part : part - 1);
    ons::read_some(part == s.own ? (const T *)s.result : (const T *)from, at, count, s.in_fours, to);
}

template <class T> __global__ void add_parts_in_order(const __grid_constant__ ons::tensor_table<part_sum_item> table) {
    for (int64_t block = blockIdx.x; block < table.ends[table.count - 1]; block += gridDim.x) {
        int64_t chunk = block;
        const part_sum_item s = table.items[ons::find_tensor(table, chunk)];
        ons::each_four(chunk, s.elements, [&](int64_t at, int count) {
            float total[4], part[4];
            read_part<T>(s, 0, at, count, total);
            for (uint32_t k = 1; k < s.parts; ++k) {
                float factor = k < s.more ? s.factor : s.last_factor;
                read_part<T>(s, k, at, count, part);
#pragma unroll
                for (int i = 0; i < 4; ++i) total[i] = ons::rounded<T>(total[i] * factor + part[i]);
            }
            ons::write_some((T *)s.result, at, count, s.in_fours, total);
        });
    }
}

part_sum_item describe_part_sum(const ons_part_sum *s, size_t size) {
    part_sum_item t = {s->result, (const char *)s->others, s->stride,     s->elements, s->parts, s->own,
                       s->more,   s->factors[0],           s->factors[1], false};
    t.in_fours = ons::is_aligned(t.result, 4 * size) && ons::is_aligned(t.others, 4 * size) &&
                 t.stride % (int64_t)(4 * size) == 0;
    return t;
}

/* Sums of this type; others are passed over. */
template <class T> void add_part_sums(const ons_part_sum *sums, uint32_t count, ons_dtype dtype, uintptr_t stream) {
    ons_launch launch = {};
    launch.stream = stream;
    ons::tensor_table<part_sum_item> table = {};
    auto flush = [&] {
        ons::launch(&launch, add_parts_in_order<T>, ons::blocks_of(table), ons::CHUNK_THREADS, table);
        table.count = 0;
    };
    for (uint32_t i = 0; i < count; ++i) {
        if (sums[i].dtype != dtype || sums[i].parts == 0) continue;
        part_sum_item t = describe_part_sum(&sums[i], sizeof(T));
        if (ons::add_tensor(&table, t, ons::chunks_of(t.elements))) continue;
        flush();
        ons::add_tensor(&table, t, ons::chunks_of(t.elements));
    }
    flush();
}

} // namespace

extern "C" void ons_cuda_add_parts(const ons_part_sum *sums, uint32_t count, uintptr_t stream) {
    add_part_sums<float>(sums, count, ONS_FLOAT32, stream);
    add_part_sums<__half>(sums, count, ONS_FLOAT16, stream);
    add_part_sums<__nv_bfloat16>(sums, count, ONS_BFLOAT16, stream);
}
