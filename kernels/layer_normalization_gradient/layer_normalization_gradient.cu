#include "kernels/common/cuda_rows.cuh"

namespace {

/* dx = r (a - mean(a) - n mean(a n)), n = (x - mean) r, a = dy scale; dx may be dy or x. */
template <class Group, class T>
__global__ void norm_input_gradient(ons_layer_norm norm, const T *dy, const T *x, const T *scale, const float *means,
                               const float *inverses, T *dx) {
    int64_t n = norm.columns;
    for (int64_t row = Group::first(); row < norm.rows; row += Group::stride()) {
        const T *dy_row = dy + row * n, *x_row = x + row * n;
        float mean = means[row], r = inverses[row], first = 0, second = 0;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float a = ons::widen(dy_row[k]) * ons::widen(scale[k]);
            first += a;
            second += a * ((ons::widen(x_row[k]) - mean) * r);
        }
        first = Group::reduce(first, 0.0f, ons::add()) / (float)n;
        second = Group::reduce(second, 0.0f, ons::add()) / (float)n;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float a = ons::widen(dy_row[k]) * ons::widen(scale[k]);
            dx[row * n + k] = ons::narrow<T>(r * (a - first - (ons::widen(x_row[k]) - mean) * r * second));
        }
    }
}

constexpr int NORM_COLUMNS = 32, NORM_LANES = 8;

/* Sums over the rows of one part for 32 columns: eight lanes take every eighth row, and are added in order. */
template <class T>
__global__ void norm_part_sums(ons_layer_norm norm, int parts, const T *dy, const T *x, const float *means,
                          const float *inverses, float *partial) {
    __shared__ float of_scale[NORM_LANES][NORM_COLUMNS], of_bias[NORM_LANES][NORM_COLUMNS];
    int64_t across = (norm.columns + NORM_COLUMNS - 1) / NORM_COLUMNS;
    for (int64_t item = blockIdx.x; item < across * parts; item += gridDim.x) {
        int64_t part = item / across, column = item % across * NORM_COLUMNS + threadIdx.x % NORM_COLUMNS;
        int64_t begin = norm.rows * part / parts, end = norm.rows * (part + 1) / parts;
        int lane = (int)threadIdx.x / NORM_COLUMNS;
        float scale_sum = 0, bias_sum = 0;
        for (int64_t row = begin + lane; column < norm.columns && row < end; row += NORM_LANES) {
            float d = ons::widen(dy[row * norm.columns + column]);
            scale_sum += d * ((ons::widen(x[row * norm.columns + column]) - means[row]) * inverses[row]);
            bias_sum += d;
        }
        of_scale[lane][threadIdx.x % NORM_COLUMNS] = scale_sum;
        of_bias[lane][threadIdx.x % NORM_COLUMNS] = bias_sum;
        __syncthreads();
        if (lane == 0 && column < norm.columns) {
            for (int i = 1; i < NORM_LANES; ++i) {
                scale_sum += of_scale[i][threadIdx.x];
                bias_sum += of_bias[i][threadIdx.x];
            }
            partial[(2 * part) * norm.columns + column] = scale_sum;
            partial[(2 * part + 1) * norm.columns + column] = bias_sum;
        }
        __syncthreads();
    }
}

template <class T>
__global__ void join_norm_parts(int64_t columns, int parts, const float *partial, T *dscale, T *dbias) {
    for (int64_t column = ons::global_thread(); column < columns; column += ons::global_threads()) {
        float scale_sum = 0, bias_sum = 0;
        for (int part = 0; part < parts; ++part) {
            scale_sum += partial[(2 * part) * columns + column];
            bias_sum += partial[(2 * part + 1) * columns + column];
        }
        if (dscale != nullptr) dscale[column] = ons::narrow<T>(scale_sum);
        if (dbias != nullptr) dbias[column] = ons::narrow<T>(bias_sum);
    }
}

template <class T> void run_layer_normalization_gradient(const ons_launch *l) {
    const ons_cuda_norm *s = (const ons_cuda_norm *)l->state;
    const T *dy = (const T *)l->inputs[0], *x = (const T *)l->inputs[1];
    const float *means = (const float *)l->inputs[3], *inverses = (const float *)l->inputs[4];
    int64_t n = s->norm.columns;
    /* The sums first: dx may take the place of what they read. */
    if (l->outputs[1] != nullptr || l->outputs[2] != nullptr) {
        ons::launch(l, norm_part_sums<T>, (n + NORM_COLUMNS - 1) / NORM_COLUMNS * s->parts, NORM_COLUMNS * NORM_LANES, s->norm, s->parts, dy, x,
                    means, inverses, (float *)l->scratch);
        ons::launch(l, join_norm_parts<T>, ons::blocks_for(n, ons::ROW_THREADS), ons::ROW_THREADS, n, s->parts,
                    (const float *)l->scratch, (T *)l->outputs[1], (T *)l->outputs[2]);
    }
    ons_axis_view view = {s->norm.rows, n, 1};
    if (l->outputs[0] != nullptr)
        ONS_CUDA_LAUNCH_ROWS(l, view, s->norm.rows, norm_input_gradient, T, s->norm, dy, x, (const T *)l->inputs[2], means,
                             inverses, (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_layer_normalization_gradient(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_norm *)launch->state)->dtype, run_layer_normalization_gradient, launch);
}
