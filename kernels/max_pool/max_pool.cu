#include "kernels/pooling/cuda_pooling.cuh"

namespace {

template <class T, int COUNT, class Index> struct maximum_of_window {
    ons::windows<Index> w;
    const T *x;
    T *y;
    int64_t *indices; /* nullptr: nobody reads it; the same for the positions */
    void *positions;
    bool wide_position, column_major;

    static maximum_of_window of(const ons_launch *l, const ons_cuda_pooling *s) {
        return {ons::windows_of<Index>(s, COUNT),
                (const T *)l->inputs[0],
                (T *)l->outputs[0],
                (int64_t *)l->outputs[1],
                l->outputs[2],
                s->wide_position,
                s->column_major};
    }

    /* In ONNX's indices, of a tap; of the first position where nothing was found. They are asked for in ONNX's order
     * alone. */
    __device__ int64_t index_of(const ons::pooled<Index> &to, Index tap) const {
        Index row = tap / w.kernel[2], kernel_at[] = {row / w.kernel[1], row % w.kernel[1], tap - row * w.kernel[2]};
        Index at[ONS_WINDOW_DIMS] = {};
        for (int d = 0; d < ONS_WINDOW_DIMS && tap >= 0; ++d)
            at[d] = to.at[d] * w.stride[d] - w.begin[d] + kernel_at[d] * w.dilation[d];
        Index where = column_major ? (at[2] * w.input[1] + at[1]) * w.input[0] + at[0]
                                   : (at[0] * w.input[1] + at[1]) * w.input[2] + at[2];
        return (int64_t)to.plane * w.inputs + where;
    }

    __device__ void operator()(int64_t item) const {
        ons::pooled<Index> to = ons::pooled_of<COUNT>(w, (Index)item, w.output, w.inputs);
        Index found[COUNT];
        float best[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            found[i] = -1;
            best[i] = -INFINITY;
        }
        ons::for_taps(w, to.at, [&](Index tap, Index at) {
            float value[COUNT];
            ons::read<COUNT>(x, to.first + at * w.width, false, value);
#pragma unroll
            for (int i = 0; i < COUNT; ++i) {
                bool better = found[i] < 0 || value[i] > best[i] || value[i] != value[i];
                best[i] = better ? value[i] : best[i];
                found[i] = better ? tap : found[i];
            }
        });
        ons::write<COUNT>(y, to.element, best);
        if (COUNT == 1 && indices != nullptr) indices[to.element] = index_of(to, found[0]);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) found[i] = found[i] < 0 ? 0 : found[i];
        if (positions != nullptr && wide_position) ons::write<COUNT>((int32_t *)positions, to.element, found);
        if (positions != nullptr && !wide_position) ons::write<COUNT>((uint8_t *)positions, to.element, found);
    }
};

template <class T> void run_max_pool(const ons_launch *l, const ons_cuda_pooling *s) {
    bool packs =
        ons::has_packs(l->inputs[0]) && ons::has_packs(l->outputs[0]) && ons::has_place_packs(s, l->outputs[2]);
    ons::run_pooling<T, maximum_of_window>(l, s, s->outputs, packs && l->outputs[1] == nullptr);
}

} // namespace

extern "C" void ons_cuda_run_max_pool(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_max_pool, launch, s);
}
