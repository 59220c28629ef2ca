#include "kernels/pooling/cuda_pooling.cuh"

namespace {

template <class T, int COUNT, class Index> struct shares_of_norms {
    ons::windows<Index> w;
    const T *dy, *x, *y;
    T *dx;
    int p;
    static shares_of_norms of(const ons_launch *l, const ons_cuda_pooling *s) {
        return {ons::windows_of<Index>(s, COUNT), (const T *)l->inputs[0], (const T *)l->inputs[1],
                (const T *)l->inputs[2],          (T *)l->outputs[0],      s->p};
    }
    __device__ void operator()(int64_t item) const {
        ons::pooled<Index> of = ons::pooled_of<COUNT>(w, (Index)item, w.input, w.outputs);
        float sum[COUNT] = {}, at[COUNT];
        ons::for_windows(w, of.at, [&](Index, const Index(&output)[ONS_WINDOW_DIMS]) {
            Index from = of.first + ons::output_at(w, output) * w.width;
            float share[COUNT], norm[COUNT];
            ons::read<COUNT>(dy, from, false, share);
            ons::read<COUNT>(y, from, false, norm);
#pragma unroll
            for (int i = 0; i < COUNT; ++i) sum[i] += share[i] * ons_lp_share(norm[i], p);
        });
        ons::read<COUNT>(x, of.element, false, at);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) sum[i] = ons_lp_slope(at[i], p) * sum[i];
        ons::write<COUNT>(dx, of.element, sum);
    }
};

/* One channel to a thread: the code of eight powers would be long. */
template <class T> void run_lp_pool_gradient(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::run_pooling_packs<T, shares_of_norms, 1>(l, s, s->inputs);
}

} // namespace

extern "C" void ons_cuda_run_lp_pool_gradient(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_lp_pool_gradient, launch, s);
}
