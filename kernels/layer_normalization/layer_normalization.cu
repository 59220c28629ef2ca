#include "kernels/common/cuda_rows.cuh"

namespace {

/* y may be x. The variance is that of the differences from the mean, in a pass of its own. */
template <class Group, class T>
__global__ void normalize(ons_layer_norm norm, float epsilon, const T *x, const T *scale, const T *bias, T *y,
                          float *means, float *inverses) {
    int64_t n = norm.columns;
    for (int64_t row = Group::first(); row < norm.rows; row += Group::stride()) {
        const T *from = x + row * n;
        float sum = 0, squares = 0;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) sum += ons::widen(from[k]);
        float mean = Group::reduce(sum, 0.0f, ons::add()) / (float)n;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float d = ons::widen(from[k]) - mean;
            squares += d * d;
        }
        float inverse = 1 / sqrtf(Group::reduce(squares, 0.0f, ons::add()) / (float)n + epsilon);
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float value = (ons::widen(from[k]) - mean) * inverse * ons::widen(scale[k]);
            y[row * n + k] = ons::narrow<T>(bias == nullptr ? value : value + ons::widen(bias[k]));
        }
        if (Group::lane() == 0 && means != nullptr) means[row] = mean;
        if (Group::lane() == 0 && inverses != nullptr) inverses[row] = inverse;
    }
}

template <class T> void run_layer_normalization(const ons_launch *l) {
    const ons_cuda_norm *s = (const ons_cuda_norm *)l->state;
    ons_axis_view view = {s->norm.rows, s->norm.columns, 1};
    ONS_CUDA_LAUNCH_ROWS(l, view, s->norm.rows, normalize, T, s->norm, s->epsilon, (const T *)l->inputs[0],
                         (const T *)l->inputs[1], s->has_bias ? (const T *)l->inputs[2] : nullptr, (T *)l->outputs[0],
                         (float *)l->outputs[1], (float *)l->outputs[2]);
}

} // namespace

extern "C" void ons_cuda_layer_normalization(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_norm *)launch->state)->dtype, run_layer_normalization, launch);
}
