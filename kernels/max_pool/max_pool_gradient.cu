#include "kernels/pooling/cuda_pooling.cuh"

namespace {

/* Taps are compared as they are saved, without a conversion of each. */
template <int COUNT, class P, class T>
__device__ inline void add_share(const P *positions, const T *dy, P tap, float (&sum)[COUNT]) {
    ons::pack<P, COUNT> found = *reinterpret_cast<const ons::pack<P, COUNT> *>(positions);
    float share[COUNT];
    ons::read<COUNT>(dy, 0, false, share);
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        if (found.at[i] == tap) sum[i] += share[i];
}

template <class T, int COUNT, class Index> struct shares_of_maxima {
    ons::windows<Index> w;
    const T *dy;
    const void *positions;
    T *dx;
    bool wide_position;
    static shares_of_maxima of(const ons_launch *l, const ons_cuda_pooling *s) {
        return {ons::windows_of<Index>(s, COUNT), (const T *)l->inputs[0], l->inputs[1], (T *)l->outputs[0],
                s->wide_position};
    }
    __device__ void operator()(int64_t item) const {
        ons::pooled<Index> of = ons::pooled_of<COUNT>(w, (Index)item, w.input, w.outputs);
        float sum[COUNT] = {};
        ons::for_windows(w, of.at, [&](Index tap, const Index(&output)[ONS_WINDOW_DIMS]) {
            Index from = of.first + ons::output_at(w, output) * w.width;
            if (wide_position)
                add_share<COUNT>((const int32_t *)positions + from, dy + from, (int32_t)tap, sum);
            else
                add_share<COUNT>((const uint8_t *)positions + from, dy + from, (uint8_t)tap, sum);
        });
        ons::write<COUNT>(dx, of.element, sum);
    }
};

template <class T> void run_max_pool_gradient(const ons_launch *l, const ons_cuda_pooling *s) {
    bool packs = ons::has_packs(l->inputs[0]) && ons::has_packs(l->outputs[0]) && ons::has_place_packs(s, l->inputs[1]);
    ons::run_pooling<T, shares_of_maxima>(l, s, s->inputs, packs);
}

} // namespace

extern "C" void ons_cuda_run_max_pool_gradient(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_max_pool_gradient, launch, s);
}
