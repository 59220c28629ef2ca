#include "kernels/convolution/cuda_convolution.cuh"

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

/* With channels last: a block for 32 channels, eight lanes that take every eighth position. */
constexpr int BIAS_CHANNELS = 32, BIAS_LANES = ons::ROW_THREADS / BIAS_CHANNELS;

template <class T> __global__ void bias_sums_last(int64_t rows, int channels, const T *dy, T *dbias) {
    __shared__ double lanes[BIAS_LANES][BIAS_CHANNELS];
    int column = (int)threadIdx.x % BIAS_CHANNELS, lane = (int)threadIdx.x / BIAS_CHANNELS;
    for (int first = (int)blockIdx.x * BIAS_CHANNELS; first < channels; first += (int)gridDim.x * BIAS_CHANNELS) {
        double sum = 0;
        if (first + column < channels)
            for (int64_t row = lane; row < rows; row += BIAS_LANES)
                sum += ons::widen(dy[row * channels + first + column]);
        lanes[lane][column] = sum;
        __syncthreads();
        if (lane == 0 && first + column < channels) {
            for (int i = 1; i < BIAS_LANES; ++i) sum += lanes[i][column];
            dbias[first + column] = ons::narrow<T>((float)sum);
        }
        __syncthreads();
    }
}

template <class T> void run_bias_sums(const ons_launch *l, const ons_cuda_convolution *s, const T *dy, T *dbias) {
    int channels = s->groups * s->outputs;
    if (s->y.channel == 1)
        ons::launch(l, bias_sums_last<T>, (channels + BIAS_CHANNELS - 1) / BIAS_CHANNELS, ons::ROW_THREADS,
                    (int64_t)s->batch * s->positions, channels, dy, dbias);
    else
        ons::launch(l, bias_sums<T>, channels, ons::ROW_THREADS, s->batch, channels, s->positions, dy, dbias);
}

template <class T> void run_conv_weight_gradient(const ons_launch *l, const ons_cuda_convolution *s) {
    const T *const *in = (const T *const *)l->inputs;
    if (l->outputs[0] != nullptr && s->plan != nullptr)
        ons::run_planned_convolution<T>(l, s, in[0], (T *)l->outputs[0], (T *)in[1], true);
    else if (l->outputs[0] != nullptr)
        ons::run_convolution(l, ons::weight_product<T>{*s, in[0], in[1], (T *)l->outputs[0]});
    if (s->bias && l->outputs[1] != nullptr) run_bias_sums<T>(l, s, in[1], (T *)l->outputs[1]);
}

} // namespace

extern "C" void ons_cuda_run_conv_weight_gradient(const ons_launch *launch) {
    const ons_cuda_convolution *s = (const ons_cuda_convolution *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_conv_weight_gradient, launch, s);
}
