/* Convolutions on CUDA: the products of cuda_convolution.h, with the columns read from where they lie.
 *
 * A block makes a tile of 64 × 64 results, each of its 256 threads 4 × 4 of them; 16 steps of the depth at a time lie
 * in shared memory. Products of few rows (depthwise convolutions) have a thread for each result, or a warp where the
 * depth is long. Parts of the depth are added in their order.
 */
#ifndef ONSTAGE_KERNELS_CONVOLUTION_CUDA_CONVOLUTION_CUH
#define ONSTAGE_KERNELS_CONVOLUTION_CUDA_CONVOLUTION_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/convolution/cuda_convolution.h"
}

namespace ons {

constexpr int CONV_TILE = 64, CONV_DEPTH = 16, CONV_THREADS = 256, CONV_SIDE = 4, CONV_ROWS_FEW = 16;

struct place {
    int z, y, x;
};
__device__ inline place place_of(const int *sizes, int number) {
    int rest = number / sizes[2], z = rest / sizes[1];
    return {z, rest - z * sizes[1], number - rest * sizes[2]};
}

/* Each says what stands in row r (or column n) and step k of a group's two factors, and where a result goes. */
template <class T> struct forward_product {
    ons_cuda_convolution s;
    const T *x, *w, *bias;
    T *y;

    struct column {
        place first; /* where the window begins */
        int64_t base;
    };
    __device__ float row_factor(int group, int r, int k) const {
        int channel = k / s.taps, tap = k - channel * s.taps;
        return widen(w[((int64_t)group * s.outputs + r) * s.w.outer + channel * s.w.channel + tap * s.w.inner]);
    }
    __device__ column column_of(int group, int n) const {
        int sample = n / s.positions;
        place at = place_of(s.output, n - sample * s.positions);
        return {{at.z * s.stride[0] - s.begin[0], at.y * s.stride[1] - s.begin[1], at.x * s.stride[2] - s.begin[2]},
                sample * s.x.outer + (int64_t)group * s.channels * s.x.channel};
    }
    __device__ float column_factor(const column &c, int k) const {
        int channel = k / s.taps;
        place tap = place_of(s.kernel, k - channel * s.taps);
        int z = c.first.z + tap.z * s.dilation[0], row = c.first.y + tap.y * s.dilation[1];
        int at = c.first.x + tap.x * s.dilation[2];
        if (z < 0 || z >= s.input[0] || row < 0 || row >= s.input[1] || at < 0 || at >= s.input[2]) return 0;
        int64_t position = ((int64_t)z * s.input[1] + row) * s.input[2] + at;
        return widen(x[c.base + channel * s.x.channel + position * s.x.inner]);
    }
    __device__ void put(int group, int r, int n, float value) const {
        int sample = n / s.positions, channel = group * s.outputs + r;
        if (s.bias) value += widen(bias[channel]);
        y[sample * s.y.outer + channel * s.y.channel + (n - sample * s.positions) * s.y.inner] = narrow<T>(value);
    }
};

template <class T> struct input_product {
    ons_cuda_convolution s;
    const T *dy, *w, *bias;
    T *dx;

    struct column {
        place at; /* with the padding before it */
        int64_t base;
    };
    __device__ float row_factor(int group, int r, int k) const {
        int output = k / s.taps, tap = k - output * s.taps;
        return widen(w[((int64_t)group * s.outputs + output) * s.w.outer + r * s.w.channel + tap * s.w.inner]);
    }
    __device__ column column_of(int group, int n) const {
        int sample = n / s.inputs;
        place at = place_of(s.input, n - sample * s.inputs);
        return {{at.z + s.begin[0], at.y + s.begin[1], at.x + s.begin[2]},
                sample * s.y.outer + (int64_t)group * s.outputs * s.y.channel};
    }
    /* The output position whose window has the place at tap `tap` in one dim, or -1. */
    __device__ int window_at(int dim, int at, int tap) const {
        int distance = at - tap * s.dilation[dim], output = distance / s.stride[dim];
        return distance < 0 || output >= s.output[dim] || output * s.stride[dim] != distance ? -1 : output;
    }
    __device__ float column_factor(const column &c, int k) const {
        int output = k / s.taps;
        place tap = place_of(s.kernel, k - output * s.taps);
        int z = window_at(0, c.at.z, tap.z), row = window_at(1, c.at.y, tap.y), at = window_at(2, c.at.x, tap.x);
        if (z < 0 || row < 0 || at < 0) return 0;
        int64_t position = ((int64_t)z * s.output[1] + row) * s.output[2] + at;
        return widen(dy[c.base + output * s.y.channel + position * s.y.inner]);
    }
    __device__ void put(int group, int r, int n, float value) const {
        int sample = n / s.inputs, channel = group * s.channels + r;
        if (s.bias) value += widen(bias[channel]);
        dx[sample * s.x.outer + channel * s.x.channel + (n - sample * s.inputs) * s.x.inner] = narrow<T>(value);
    }
};

template <class T> struct weight_product {
    ons_cuda_convolution s;
    const T *x, *dy;
    T *dw;

    struct column {
        place tap; /* where it looks in a window, less the padding */
        int64_t base;
    };
    __device__ float row_factor(int group, int r, int k) const {
        int sample = k / s.positions;
        int64_t channel = (int64_t)group * s.outputs + r;
        return widen(dy[sample * s.y.outer + channel * s.y.channel + (k - sample * s.positions) * s.y.inner]);
    }
    __device__ column column_of(int group, int n) const {
        int channel = n / s.taps;
        place tap = place_of(s.kernel, n - channel * s.taps);
        return {{tap.z * s.dilation[0] - s.begin[0], tap.y * s.dilation[1] - s.begin[1],
                 tap.x * s.dilation[2] - s.begin[2]},
                ((int64_t)group * s.channels + channel) * s.x.channel};
    }
    __device__ float column_factor(const column &c, int k) const {
        int sample = k / s.positions;
        place out = place_of(s.output, k - sample * s.positions);
        int z = out.z * s.stride[0] + c.tap.z, row = out.y * s.stride[1] + c.tap.y, at = out.x * s.stride[2] + c.tap.x;
        if (z < 0 || z >= s.input[0] || row < 0 || row >= s.input[1] || at < 0 || at >= s.input[2]) return 0;
        int64_t position = ((int64_t)z * s.input[1] + row) * s.input[2] + at;
        return widen(x[c.base + sample * s.x.outer + position * s.x.inner]);
    }
    __device__ void put(int group, int r, int n, float value) const {
        int channel = n / s.taps, tap = n - channel * s.taps;
        dw[((int64_t)group * s.outputs + r) * s.w.outer + channel * s.w.channel + tap * s.w.inner] = narrow<T>(value);
    }
};

template <class Product>
__global__ void __launch_bounds__(CONV_THREADS) convolve_tiles(Product p, int64_t items, float *partial) {
    __shared__ float left[CONV_DEPTH][CONV_TILE + 1], right[CONV_DEPTH][CONV_TILE + 1];
    const ons_cuda_convolution &s = p.s;
    int thread = (int)threadIdx.x, across = (s.columns + CONV_TILE - 1) / CONV_TILE,
        down = (s.rows + CONV_TILE - 1) / CONV_TILE;
    for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
        int64_t rest = item / across;
        int first_column = (int)(item - rest * across) * CONV_TILE, first_row = (int)(rest % down) * CONV_TILE;
        rest /= down;
        int part = (int)(rest % s.parts), group = (int)(rest / s.parts);
        int begin = (int)((int64_t)s.depth * part / s.parts), end = (int)((int64_t)s.depth * (part + 1) / s.parts);
        int n = first_column + thread % CONV_TILE;
        typename Product::column column = p.column_of(group, n < s.columns ? n : 0);
        float sums[CONV_SIDE][CONV_SIDE] = {};
        for (int k = begin; k < end; k += CONV_DEPTH) {
#pragma unroll
            for (int i = 0; i < CONV_TILE * CONV_DEPTH / CONV_THREADS; ++i) {
                int step = thread / CONV_TILE + i * (CONV_THREADS / CONV_TILE);
                right[step][thread % CONV_TILE] =
                    n < s.columns && k + step < end ? p.column_factor(column, k + step) : 0;
                int row = thread / CONV_DEPTH + i * (CONV_THREADS / CONV_DEPTH), own = thread % CONV_DEPTH;
                bool inside = first_row + row < s.rows && k + own < end;
                left[own][row] = inside ? p.row_factor(group, first_row + row, k + own) : 0;
            }
            __syncthreads();
#pragma unroll
            for (int step = 0; step < CONV_DEPTH; ++step) {
                float a[CONV_SIDE], b[CONV_SIDE];
#pragma unroll
                for (int i = 0; i < CONV_SIDE; ++i) {
                    a[i] = left[step][thread / 16 + 16 * i];
                    b[i] = right[step][thread % 16 + 16 * i];
                }
#pragma unroll
                for (int i = 0; i < CONV_SIDE; ++i)
#pragma unroll
                    for (int j = 0; j < CONV_SIDE; ++j) sums[i][j] += a[i] * b[j];
            }
            __syncthreads();
        }
#pragma unroll
        for (int i = 0; i < CONV_SIDE; ++i)
#pragma unroll
            for (int j = 0; j < CONV_SIDE; ++j) {
                int row = first_row + thread / 16 + 16 * i, to = first_column + thread % 16 + 16 * j;
                if (row >= s.rows || to >= s.columns) continue;
                if (s.parts == 1)
                    p.put(group, row, to, sums[i][j]);
                else
                    partial[(((int64_t)part * s.groups + group) * s.rows + row) * s.columns + to] = sums[i][j];
            }
    }
}

template <class Product> struct join_convolution {
    Product p;
    const float *partial;
    __device__ void operator()(int64_t i) const {
        const ons_cuda_convolution &s = p.s;
        int64_t results = (int64_t)s.groups * s.rows * s.columns, row = i / s.columns;
        float sum = 0;
        for (int part = 0; part < s.parts; ++part) sum += partial[part * results + i];
        p.put((int)(row / s.rows), (int)(row % s.rows), (int)(i - row * s.columns), sum);
    }
};

/* Products of few rows: a group of threads for each result. */
template <class Group, class Product> __global__ void convolve_singles(Product p) {
    const ons_cuda_convolution &s = p.s;
    for (int64_t i = Group::first(); i < (int64_t)s.groups * s.rows * s.columns; i += Group::stride()) {
        int64_t row = i / s.columns;
        int n = (int)(i - row * s.columns), group = (int)(row / s.rows), r = (int)(row % s.rows);
        typename Product::column column = p.column_of(group, n);
        float sum = 0;
        for (int k = Group::lane(); k < s.depth; k += Group::SIZE)
            sum += p.row_factor(group, r, k) * p.column_factor(column, k);
        sum = Group::reduce(sum, 0.0f, add());
        if (Group::lane() == 0) p.put(group, r, n, sum);
    }
}

/* COUNT neighbours, of one plane or, with channels last, of one position: of a channel `run` elements lie side by side.
 */
template <int COUNT, class T> struct add_bias {
    int64_t channels, run;
    const T *bias;
    T *y;
    __device__ void operator()(int64_t i) const {
        int64_t first = i * COUNT / run % channels;
        pack<T, COUNT> values = reinterpret_cast<const pack<T, COUNT> *>(y)[i];
#pragma unroll
        for (int k = 0; k < COUNT; ++k)
            values.at[k] = narrow<T>(widen(values.at[k]) + widen(bias[first + (run == 1 ? k : 0)]));
        reinterpret_cast<pack<T, COUNT> *>(y)[i] = values;
    }
};

/* y += bias, for cuDNN, which leaves it to us. */
template <class T>
void run_bias(const ons_launch *l, int64_t elements, int64_t channels, const ons_cuda_distances &of, const void *bias,
              void *y) {
    const T *from = (const T *)bias;
    if ((of.channel == 1 ? channels : of.channel) % 4 == 0 && is_aligned(y, 4 * sizeof(T)))
        each(l, elements / 4, add_bias<4, T>{channels, of.channel, from, (T *)y});
    else
        each(l, elements, add_bias<1, T>{channels, of.channel, from, (T *)y});
}

template <class Product> void run_convolution(const ons_launch *l, const Product &p) {
    const ons_cuda_convolution &s = p.s;
    int64_t results = (int64_t)s.groups * s.rows * s.columns;
    float *partial = (float *)l->scratch;
    if (results == 0) return;
    if (s.rows < CONV_ROWS_FEW) {
        if (s.depth <= 4 * WARP)
            launch(l, convolve_singles<thread_group, Product>, thread_group::blocks(results), ROW_THREADS, p);
        else if (s.depth <= WARP_ROW)
            launch(l, convolve_singles<warp_group, Product>, warp_group::blocks(results), ROW_THREADS, p);
        else
            launch(l, convolve_singles<block_group, Product>, block_group::blocks(results), ROW_THREADS, p);
        return;
    }
    int64_t items = (int64_t)((s.columns + CONV_TILE - 1) / CONV_TILE) * ((s.rows + CONV_TILE - 1) / CONV_TILE) *
                    s.parts * s.groups;
    launch(l, convolve_tiles<Product>, items, CONV_THREADS, p, items, partial);
    if (s.parts > 1) each(l, results, join_convolution<Product>{p, partial});
}

/* A row of `channels` as one of PADDED, with zeros behind. */
template <class T> struct pad_channels {
    static constexpr int PADDED = ONS_CUDA_PADDED_CHANNELS;
    int channels;
    const T *x;
    pack<T, PADDED> *y;
    __device__ void operator()(int64_t row) const {
        pack<T, PADDED> to;
#pragma unroll
        for (int i = 0; i < PADDED; ++i) to.at[i] = i < channels ? x[row * channels + i] : narrow<T>(0.0f);
        y[row] = to;
    }
};
template <class T> struct take_channels {
    int channels;
    const T *x;
    T *y;
    __device__ void operator()(int64_t i) const {
        int64_t row = i / channels;
        y[i] = x[row * ONS_CUDA_PADDED_CHANNELS + (i - row * channels)];
    }
};

/* By cuDNN, with x and w padded where the plan is of such: forwards, or of the weight's gradient. */
template <class T>
void run_planned_convolution(const ons_launch *l, const ons_cuda_convolution *s, const T *x, T *w, T *y,
                             bool makes_weight) {
    typedef pack<T, ONS_CUDA_PADDED_CHANNELS> row;
    if (!s->padded) return ons_cuda_convolution_run(s, l, x, w, y);
    char *scratch = (char *)l->scratch;
    row *wide_x = (row *)(void *)(scratch + s->padded_x_at), *wide_w = (row *)(void *)(scratch + s->padded_w_at);
    int64_t rows = (int64_t)s->outputs * s->taps, positions = (int64_t)s->batch * s->inputs;
    each(l, positions, pad_channels<T>{s->channels, x, wide_x});
    if (!makes_weight) each(l, rows, pad_channels<T>{s->channels, w, wide_w});
    ons_cuda_convolution_run(s, l, wide_x, wide_w, y);
    if (makes_weight) each(l, rows * s->channels, take_channels<T>{s->channels, (const T *)(const void *)wide_w, w});
}

} // namespace ons

#endif
