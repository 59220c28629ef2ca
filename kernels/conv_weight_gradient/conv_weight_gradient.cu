#include "kernels/common/cuda_convolution.cuh"

namespace {

/* A block for each channel: Σ dy. */
template <class T> __global__ void bias_sums(int batch, int channels, int positions, const T *dy, T *dbias) {
    for (int channel = (int)blockIdx.x; channel < channels; channel += (int)gridDim.x) {
        double sum = 0;
        for (int sample = 0; sample < batch; ++sample) {
            const T *plane = dy + ((int64_t)sample * channels + channel) * positions;
            for (int i = (int)threadIdx.x; i < positions; i += ons::ROW_THREADS) sum += ons::widen(plane[i]);
        }
        sum = ons::block_reduce<ons::ROW_THREADS>(sum, 0.0, ons::add());
        if (threadIdx.x == 0) dbias[channel] = ons::narrow<T>((float)sum);
    }
}

template <class T> void run_conv_weight_gradient(const ons_launch *l, const ons_cuda_convolution *s) {
    const T *const *in = (const T *const *)l->inputs;
    int channels = s->groups * s->outputs;
    if (l->outputs[0] != nullptr && s->plan != nullptr)
        ons_cuda_convolution_run(s, l, in[0], l->outputs[0], in[1]);
    else if (l->outputs[0] != nullptr)
        ons::run_convolution(l, ons::weight_product<T>{*s, in[0], in[1], (T *)l->outputs[0]});
    if (s->bias && l->outputs[1] != nullptr)
        ons::launch(l, bias_sums<T>, channels, ons::ROW_THREADS, s->batch, channels, s->positions, in[1], (T *)l->outputs[1]);
}

} // namespace

extern "C" void ons_cuda_conv_weight_gradient(const ons_launch *launch) {
    const ons_cuda_convolution *s = (const ons_cuda_convolution *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_conv_weight_gradient, launch, s);
}
