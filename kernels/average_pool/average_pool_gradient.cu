#include "kernels/pooling/cuda_pooling.cuh"

namespace {

template <class T, int COUNT, class Index> struct shares_of_averages {
    ons::windows<Index> w;
    const T *dy;
    T *dx;
    bool include_pad;
    static shares_of_averages of(const ons_launch *l, const ons_cuda_pooling *s) {
        return {ons::windows_of<Index>(s, COUNT), (const T *)l->inputs[0], (T *)l->outputs[0], s->include_pad};
    }
    __device__ void operator()(int64_t item) const {
        ons::pooled<Index> of = ons::pooled_of<COUNT>(w, (Index)item, w.input, w.outputs);
        float sum[COUNT] = {};
        ons::for_windows(w, of.at, [&](Index, const Index(&output)[ONS_WINDOW_DIMS]) {
            float share[COUNT], divisor = (float)ons::average_divisor(w, include_pad, output);
            ons::read<COUNT>(dy, of.first + ons::output_at(w, output) * w.width, false, share);
#pragma unroll
            for (int i = 0; i < COUNT; ++i) sum[i] += share[i] / divisor;
        });
        ons::write<COUNT>(dx, of.element, sum);
    }
};

template <class T> void run_average_pool_gradient(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::run_pooling<T, shares_of_averages>(l, s, s->inputs,
                                            ons::has_packs(l->inputs[0]) && ons::has_packs(l->outputs[0]));
}

} // namespace

extern "C" void ons_cuda_run_average_pool_gradient(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_average_pool_gradient, launch, s);
}
