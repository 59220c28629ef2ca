#include "kernels/common/rows/cuda_rows.cuh"
#include "kernels/quantization/cuda_fake_quantization.cuh"
extern "C" {
#include "kernels/fake_quantize/fake_quantize_gradient.h"
}

namespace {

/* What an element gives to x and to the two scales. */
template <class T> struct fake_slopes {
    ons_fake fake;
    const T *dy, *x, *from, *to;
    ons::zero_points from_zeros, to_zeros;
    T *dx;

    struct parts {
        float x, from, to;
    };
    __device__ parts parts_of(int64_t i, int64_t k) const {
        float value = ons::widen(x[i]), s = ons::widen(from[k]), t = ons::widen(to[k]), slope = ons::widen(dy[i]);
        float raw = rintf(value / s) + from_zeros[k], q = raw < fake.low ? fake.low : raw > fake.high ? fake.high : raw;
        float inside = raw >= fake.low && raw <= fake.high ? slope * t / s : 0;
        return {inside, -inside * (value / s), slope * (q - to_zeros[k])};
    }
    __device__ void operator()(int64_t i) const {
        dx[i] = ons::narrow<T>(parts_of(i, ons_scale_of(&fake.scales, i)).x);
    }

    /* Element number j of scale k, -1 behind the last of a block that is cut short. */
    __device__ int64_t element(int64_t k, int64_t j) const {
        const ons_scales &s = fake.scales;
        if (s.count == 1) return j;
        if (!s.blocked) return (j / s.inner * s.length + k) * s.inner + j % s.inner;
        int64_t line = k / s.inner, at = line % s.blocks * s.block + j;
        return at >= s.length ? -1 : (line / s.blocks * s.length + at) * s.inner + k % s.inner;
    }
};

/* A block for each scale and part of its elements. */
template <class T> __global__ void sum_scales(ons_fake_quantize_gradient s, fake_slopes<T> f, double *partial) {
    int64_t count = s.fake.scales.count;
    for (int64_t item = blockIdx.x; item < count * s.parts; item += gridDim.x) {
        int64_t k = item % count, part = item / count, end = s.each * (part + 1) / s.parts;
        double from = 0, to = 0;
        for (int64_t j = s.each * part / s.parts + threadIdx.x; j < end; j += ons::ROW_THREADS) {
            int64_t i = f.element(k, j);
            if (i < 0) continue;
            typename fake_slopes<T>::parts parts = f.parts_of(i, k);
            from += parts.from;
            to += parts.to;
        }
        from = ons::block_reduce<ons::ROW_THREADS>(from, 0.0, ons::add());
        to = ons::block_reduce<ons::ROW_THREADS>(to, 0.0, ons::add());
        if (threadIdx.x == 0) partial[2 * item] = from;
        if (threadIdx.x == 0) partial[2 * item + 1] = to;
    }
}

template <class T> struct join_scales {
    int64_t count;
    int parts;
    const double *partial;
    T *from, *to;
    __device__ void operator()(int64_t k) const {
        double sums[2] = {0, 0};
        for (int part = 0; part < parts; ++part)
            for (int i = 0; i < 2; ++i) sums[i] += partial[2 * (part * count + k) + i];
        if (from != nullptr) from[k] = ons::narrow<T>((float)sums[0]);
        if (to != nullptr) to[k] = ons::narrow<T>((float)sums[1]);
    }
};

template <class T> void run_gradient(const ons_launch *l, const ons_fake_quantize_gradient *s) {
    const void *const *in = l->inputs;
    T *const *out = (T *const *)l->outputs;
    ons_dtype zero = s->fake.zero_dtype;
    double *partial = (double *)l->scratch;
    fake_slopes<T> f = {s->fake,
                        (const T *)in[0],
                        (const T *)in[1],
                        (const T *)in[2],
                        (const T *)in[3],
                        {s->has_from ? in[4] : nullptr, zero},
                        {s->has_to ? in[5] : nullptr, zero},
                        out[0]};
    if (out[0] != nullptr) ons::each(l, s->fake.scales.elements, f);
    if (out[1] == nullptr && out[2] == nullptr) return;
    ons::launch(l, sum_scales<T>, s->fake.scales.count * s->parts, ons::ROW_THREADS, *s, f, partial);
    ons::each(l, s->fake.scales.count, join_scales<T>{s->fake.scales.count, s->parts, partial, out[1], out[2]});
}

} // namespace

extern "C" void ons_cuda_run_fake_quantize_gradient(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_fake_quantize_gradient, run_gradient, launch);
}
