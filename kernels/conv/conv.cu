#include "kernels/convolution/cuda_convolution.cuh"

namespace {

template <class T> void run_conv(const ons_launch *l, const ons_cuda_convolution *s) {
    const T *const *in = (const T *const *)l->inputs;
    if (s->plan != nullptr) {
        ons::run_planned_convolution<T>(l, s, in[0], (T *)in[1], (T *)l->outputs[0], false);
        if (s->bias) ons::run_bias<T>(l, s->batch * s->y.outer, s->groups * s->outputs, s->y, in[2], l->outputs[0]);
        return;
    }
    ons::run_convolution(l, ons::forward_product<T>{*s, in[0], in[1], s->bias ? in[2] : nullptr, (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_conv(const ons_launch *launch) {
    const ons_cuda_convolution *s = (const ons_cuda_convolution *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_conv, launch, s);
}
