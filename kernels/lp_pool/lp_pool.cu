#include "kernels/pooling/cuda_pooling.cuh"

namespace {

template <class T, int COUNT, class Index> struct norm_of_window {
    ons::windows<Index> w;
    const T *x;
    T *y;
    int p;
    static norm_of_window of(const ons_launch *l, const ons_cuda_pooling *s) {
        return {ons::windows_of<Index>(s, COUNT), (const T *)l->inputs[0], (T *)l->outputs[0], s->p};
    }
    __device__ void operator()(int64_t item) const {
        ons::pooled<Index> to = ons::pooled_of<COUNT>(w, (Index)item, w.output, w.inputs);
        float sum[COUNT] = {};
        ons::for_taps(w, to.at, [&](Index, Index at) {
            float value[COUNT];
            ons::read<COUNT>(x, to.first + at * w.width, false, value);
#pragma unroll
            for (int i = 0; i < COUNT; ++i) sum[i] += ons_lp_term(value[i], p);
        });
#pragma unroll
        for (int i = 0; i < COUNT; ++i) sum[i] = ons_lp_root(sum[i], p);
        ons::write<COUNT>(y, to.element, sum);
    }
};

/* One channel to a thread: the code of eight powers would be long. */
template <class T> void run_lp_pool(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::run_pooling_packs<T, norm_of_window, 1>(l, s, s->outputs);
}

} // namespace

extern "C" void ons_cuda_run_lp_pool(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_lp_pool, launch, s);
}
