#include "kernels/normalization/cuda_group_norm.cuh"

namespace {

/* dx = r (a - mean(a) - n mean(a n)), n = (x - mean) r, a = dy scale; dx may be dy or x. */
template <class Group, class T>
__global__ void group_slopes(ons_group_norm norm, const T *dy, const T *x, const T *scale, const float *means,
                             const float *inverses, T *dx) {
    int64_t n = norm.width * norm.size.positions;
    for (int64_t row = Group::first(); row < norm.size.batch * norm.groups; row += Group::stride()) {
        float mean = means[row], r = inverses[row], first = 0, second = 0;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float a = ons::widen(dy[row * n + k]) * ons::widen(scale[ons::group_scale(norm, row, k)]);
            first += a;
            second += a * ((ons::widen(x[row * n + k]) - mean) * r);
        }
        first = Group::reduce(first, 0.0f, ons::add()) / (float)n;
        second = Group::reduce(second, 0.0f, ons::add()) / (float)n;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float a = ons::widen(dy[row * n + k]) * ons::widen(scale[ons::group_scale(norm, row, k)]);
            dx[row * n + k] = ons::narrow<T>(r * (a - first - (ons::widen(x[row * n + k]) - mean) * r * second));
        }
    }
}

/* A block for each number of the scale: what it met in all samples, Σ dy n and Σ dy. */
template <class T>
__global__ void group_scale_sums(ons_group_norm norm, const T *dy, const T *x, const float *means,
                                 const float *inverses, T *dscale, T *dbias) {
    int64_t share = norm.scale_per_group ? norm.width : 1, length = share * norm.size.positions;
    for (int64_t number = blockIdx.x; number < norm.size.channels / share; number += gridDim.x) {
        double product = 0, sum = 0;
        for (int64_t i = threadIdx.x; i < norm.size.batch * length; i += ons::ROW_THREADS) {
            int64_t sample = i / length, row = sample * norm.groups + number * share / norm.width;
            int64_t at = (sample * norm.size.channels + number * share) * norm.size.positions + (i - sample * length);
            float slope = ons::widen(dy[at]);
            sum += slope;
            product += (double)slope * ((ons::widen(x[at]) - means[row]) * inverses[row]);
        }
        product = ons::block_reduce<ons::ROW_THREADS>(product, 0.0, ons::add());
        sum = ons::block_reduce<ons::ROW_THREADS>(sum, 0.0, ons::add());
        if (threadIdx.x != 0) continue;
        if (dscale != nullptr) dscale[number] = ons::narrow<T>((float)product);
        if (dbias != nullptr) dbias[number] = ons::narrow<T>((float)sum);
    }
}

template <class T> void run_group_gradient(const ons_launch *l, const ons_cuda_group *s) {
    const T *dy = (const T *)l->inputs[0], *x = (const T *)l->inputs[1];
    const float *means = (const float *)l->inputs[3], *inverses = (const float *)l->inputs[4];
    T *const *out = (T *const *)l->outputs;
    /* The sums first: dx may take the place of what they read. */
    if (out[1] != nullptr || out[2] != nullptr)
        ons::launch(l, group_scale_sums<T>, s->norm.size.channels / (s->norm.scale_per_group ? s->norm.width : 1),
                    ons::ROW_THREADS, s->norm, dy, x, means, inverses, out[1], out[2]);
    ons_axis_view view = {s->norm.size.batch * s->norm.groups, s->norm.width * s->norm.size.positions, 1};
    if (out[0] != nullptr && view.length > 0)
        ONS_CUDA_LAUNCH_ROWS(l, view, view.outer, group_slopes, T, s->norm, dy, x, (const T *)l->inputs[2], means,
                             inverses, out[0]);
}

} // namespace

extern "C" void ons_cuda_run_group_normalization_gradient(const ons_launch *launch) {
    const ons_cuda_group *s = (const ons_cuda_group *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_group_gradient, launch, s);
}
