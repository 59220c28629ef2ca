/* Linear maps along axes on CUDA: see cuda_separable.h. */
#include "kernels/common/cuda/cuda_upload.cuh"
extern "C" {
#include "kernels/resampling/cuda_separable.h"
}

namespace ons {

template <class From, class To> struct map_axis {
    ons_cuda_map map;
    float fill;
    const uint32_t *tables;
    const From *from;
    To *to;
    __device__ void operator()(int64_t i) const {
        int64_t rest = i / map.inner, outer = rest / map.outputs, output = rest - outer * map.outputs;
        const From *column = from + outer * map.inputs * map.inner + (i - rest * map.inner);
        const uint32_t *first = tables + map.first + output;
        float sum = first[0] == first[1] ? fill : 0;
        for (uint32_t tap = first[0]; tap < first[1]; ++tap) {
            float weight;
            memcpy(&weight, &tables[map.weight + tap], sizeof weight);
            sum += weight * widen(column[(int64_t)tables[map.index + tap] * map.inner]);
        }
        to[i] = narrow<To>(sum);
    }
};

template <class From, class To>
void run_map(const ons_launch *l, const ons_cuda_separable *s, uint32_t number, const void *from, void *to) {
    const ons_cuda_map &map = s->maps[number];
    each(l, map.outer * map.outputs * map.inner,
         map_axis<From, To>{map, s->fill, (const uint32_t *)l->scratch, (const From *)from, (To *)to});
}

template <class T> void run_maps(const ons_launch *l, const ons_cuda_separable *s) {
    const void *from = l->inputs[0];
    if (s->count == 0) copy_bytes(l, l->outputs[0], from, s->elements * (int64_t)sizeof(T));
    upload(l, l->scratch, s->tables, s->words * (int64_t)sizeof(uint32_t));
    for (uint32_t i = 0; i < s->count; ++i) {
        bool begins = i == 0, ends = i + 1 == s->count;
        void *to = ends ? l->outputs[0] : (char *)l->scratch + s->buffers[i % 2];
        if (begins && ends)
            run_map<T, T>(l, s, i, from, to);
        else if (begins)
            run_map<T, float>(l, s, i, from, to);
        else if (ends)
            run_map<float, T>(l, s, i, from, to);
        else
            run_map<float, float>(l, s, i, from, to);
        from = to;
    }
}

} // namespace ons

extern "C" void ons_cuda_separable_run(const ons_launch *launch) {
    const ons_cuda_separable *s = (const ons_cuda_separable *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, ons::run_maps, launch, s);
}
