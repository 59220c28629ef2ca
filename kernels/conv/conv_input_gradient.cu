#include "kernels/convolution/cuda_convolution.cuh"

namespace {

template <class T> void run_conv_input_gradient(const ons_launch *l, const ons_cuda_convolution *s) {
    const T *const *in = (const T *const *)l->inputs;
    if (s->plan != nullptr)
        ons_cuda_convolution_run(s, l, l->outputs[0], in[1], in[0]);
    else
        ons::run_convolution(l, ons::input_product<T>{*s, in[0], in[1], nullptr, (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_conv_input_gradient(const ons_launch *launch) {
    const ons_cuda_convolution *s = (const ons_cuda_convolution *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_conv_input_gradient, launch, s);
}
