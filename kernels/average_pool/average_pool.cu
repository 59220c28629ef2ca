#include "kernels/pooling/cuda_pooling.cuh"

namespace {

template <class T, int COUNT, class Index> struct average_of_window {
    ons::windows<Index> w;
    const T *x;
    T *y;
    bool include_pad;
    static average_of_window of(const ons_launch *l, const ons_cuda_pooling *s) {
        return {ons::windows_of<Index>(s, COUNT), (const T *)l->inputs[0], (T *)l->outputs[0], s->include_pad};
    }
    __device__ void operator()(int64_t item) const {
        ons::pooled<Index> to = ons::pooled_of<COUNT>(w, (Index)item, w.output, w.inputs);
        float sum[COUNT] = {}, divisor = (float)ons::average_divisor(w, include_pad, to.at);
        ons::for_taps(w, to.at, [&](Index, Index at) {
            float value[COUNT];
            ons::read<COUNT>(x, to.first + at * w.width, false, value);
#pragma unroll
            for (int i = 0; i < COUNT; ++i) sum[i] += value[i];
        });
#pragma unroll
        for (int i = 0; i < COUNT; ++i) sum[i] /= divisor;
        ons::write<COUNT>(y, to.element, sum);
    }
};

template <class T> void run_average_pool(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::run_pooling<T, average_of_window>(l, s, s->outputs,
                                           ons::has_packs(l->inputs[0]) && ons::has_packs(l->outputs[0]));
}

} // namespace

extern "C" void ons_cuda_run_average_pool(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_average_pool, launch, s);
}
