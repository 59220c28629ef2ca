/* LayerNormalization and RMSNormalization on CUDA, which differ in the mean, and their gradients. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_CUDA_NORM_CUH
#define ONSTAGE_KERNELS_NORMALIZATION_CUDA_NORM_CUH

#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/normalization/cuda_norm.h"
}

namespace ons {

/* ------------------------------------------------------------------------------------- rows that fit into registers */

/* Every thread of a group keeps up to KEPT numbers, packs of 16 bytes of T that lie a group apart. */

constexpr int KEPT = 32;
template <class T> constexpr int PACK = PACK_BYTES / (int)sizeof(T);

template <class T> inline bool fits_registers(int64_t columns) {
    return columns % PACK<T> == 0 && columns <= (columns <= WARP_ROW ? WARP : ROW_THREADS) * KEPT;
}

/* Where a thread's pack i begins. */
template <class Group, int COUNT> __device__ inline int64_t column_of(int i) {
    return ((int64_t)i * Group::SIZE + Group::lane()) * COUNT;
}

/* Zeros behind the row's end. */
template <class Group, class T, int PACKS, int COUNT>
__device__ inline void read_row(const T *row, int64_t columns, float (&to)[PACKS][COUNT]) {
#pragma unroll
    for (int i = 0; i < PACKS; ++i) {
        int64_t k = column_of<Group, COUNT>(i);
        if (k < columns) {
            read<COUNT>(row, k, false, to[i]);
        } else {
#pragma unroll
            for (int j = 0; j < COUNT; ++j) to[i][j] = 0;
        }
    }
}

/* Launches KERNEL<group, …>, or KERNEL_kept<group, …> for rows that fit into registers. */
#define ONS_CUDA_LAUNCH_NORM(LAUNCH, NORM, KERNEL, T, S, ...)                                                          \
    do {                                                                                                               \
        if (!ons::fits_registers<T>((NORM).columns))                                                                   \
            ons::launch(LAUNCH, KERNEL<ons::block_group, T, S>, ons::block_group::blocks((NORM).rows),                 \
                        ons::ROW_THREADS, __VA_ARGS__);                                                                \
        else if ((NORM).columns <= ons::WARP_ROW)                                                                      \
            ons::launch(LAUNCH, KERNEL##_kept<ons::warp_group, T, S>, ons::warp_group::blocks((NORM).rows),            \
                        ons::ROW_THREADS, __VA_ARGS__);                                                                \
        else                                                                                                           \
            ons::launch(LAUNCH, KERNEL##_kept<ons::block_group, T, S>, ons::block_group::blocks((NORM).rows),          \
                        ons::ROW_THREADS, __VA_ARGS__);                                                                \
    } while (0)

/* ---------------------------------------------------------------------------------------------------------- forward */

/* y may be x. Not `centered`: the mean is taken for 0. The variance is that of the differences from the mean, in a pass
 * of its own. */
template <class Group, class T, class S>
__global__ void normalize(ons_layer_norm norm, float epsilon, bool centered, const T *x, const S *scale, const S *bias,
                          T *y, float *means, float *inverses) {
    int64_t n = norm.columns;
    for (int64_t row = Group::first(); row < norm.rows; row += Group::stride()) {
        const T *from = x + row * n;
        float sum = 0, squares = 0;
        for (int64_t k = Group::lane(); centered && k < n; k += Group::SIZE) sum += widen(from[k]);
        float mean = Group::reduce(sum, 0.0f, add()) / (float)n;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float d = widen(from[k]) - mean;
            squares += d * d;
        }
        float inverse = 1 / sqrtf(Group::reduce(squares, 0.0f, add()) / (float)n + epsilon);
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float value = (widen(from[k]) - mean) * inverse * widen(scale[k]);
            y[row * n + k] = narrow<T>(bias == nullptr ? value : value + widen(bias[k]));
        }
        if (Group::lane() == 0 && means != nullptr) means[row] = mean;
        if (Group::lane() == 0 && inverses != nullptr) inverses[row] = inverse;
    }
}

template <class Group, class T, class S>
__global__ void normalize_kept(ons_layer_norm norm, float epsilon, bool centered, const T *x, const S *scale,
                               const S *bias, T *y, float *means, float *inverses) {
    constexpr int COUNT = PACK<T>, PACKS = KEPT / COUNT;
    int64_t n = norm.columns;
    for (int64_t row = Group::first(); row < norm.rows; row += Group::stride()) {
        float kept[PACKS][COUNT], sum = 0, squares = 0;
        read_row<Group>(x + row * n, n, kept);
#pragma unroll
        for (int i = 0; i < KEPT; ++i) sum += kept[i / COUNT][i % COUNT];
        float mean = centered ? Group::reduce(sum, 0.0f, add()) / (float)n : 0;
#pragma unroll
        for (int i = 0; i < KEPT; ++i) {
            float d = kept[i / COUNT][i % COUNT] - mean;
            if (column_of<Group, COUNT>(i / COUNT) < n) squares += d * d;
        }
        float inverse = 1 / sqrtf(Group::reduce(squares, 0.0f, add()) / (float)n + epsilon);
#pragma unroll
        for (int i = 0; i < PACKS; ++i) {
            int64_t k = column_of<Group, COUNT>(i);
            if (k >= n) continue;
            float scales[COUNT], biases[COUNT] = {};
            read<COUNT>(scale, k, false, scales);
            if (bias != nullptr) read<COUNT>(bias, k, false, biases);
#pragma unroll
            for (int j = 0; j < COUNT; ++j) kept[i][j] = (kept[i][j] - mean) * inverse * scales[j] + biases[j];
            write<COUNT>(y, row * n + k, kept[i]);
        }
        if (Group::lane() == 0 && means != nullptr) means[row] = mean;
        if (Group::lane() == 0 && inverses != nullptr) inverses[row] = inverse;
    }
}

template <class T, class S>
void run_norm_of(const ons_launch *l, bool centered, const void *bias, float *means, float *inverses) {
    const ons_cuda_norm *s = (const ons_cuda_norm *)l->state;
    ONS_CUDA_LAUNCH_NORM(l, s->norm, normalize, T, S, s->norm, s->epsilon, centered, (const T *)l->inputs[0],
                         (const S *)l->inputs[1], (const S *)bias, (T *)l->outputs[0], means, inverses);
}

template <class T> void run_norm(const ons_launch *l, bool centered, const void *bias, float *means, float *inverses) {
    if (((const ons_cuda_norm *)l->state)->affine == ONS_FLOAT32)
        run_norm_of<T, float>(l, centered, bias, means, inverses);
    else
        run_norm_of<T, T>(l, centered, bias, means, inverses);
}

inline void run_rms_norm(const ons_launch *l) {
    float *inverses = (float *)l->outputs[1];
    switch (((const ons_cuda_norm *)l->state)->dtype) {
    case ONS_FLOAT16: run_norm<__half>(l, false, nullptr, nullptr, inverses); break;
    case ONS_BFLOAT16: run_norm<__nv_bfloat16>(l, false, nullptr, nullptr, inverses); break;
    default: run_norm<float>(l, false, nullptr, nullptr, inverses); break;
    }
}

/* --------------------------------------------------------------------------------------------------------- backward */

/* The operands of a gradient, in rows. */
template <class T> struct norm_operands {
    const T *dy, *more; /* the cotangent's summands; the second may be nullptr */
    const T *x;
    const float *means, *inverses; /* without means nothing comes through one */
    const T *added;                /* to dx; nullptr: nothing */
    __device__ float cotangent(int64_t at) const {
        float first = widen(dy[at]);
        return more == nullptr ? first : first + widen(more[at]);
    }
    __device__ float mean(int64_t row) const { return means == nullptr ? 0 : means[row]; }
};

/* dx = r (a - mean(a) - n mean(a n)) + added, n = (x - mean) r, a = dy scale; dx may be in the place of any of them. */
template <class Group, class T, class S>
__global__ void norm_input_gradient(ons_layer_norm norm, norm_operands<T> o, const S *scale, T *dx) {
    int64_t n = norm.columns;
    for (int64_t row = Group::first(); row < norm.rows; row += Group::stride()) {
        float mean = o.mean(row), r = o.inverses[row], first = 0, second = 0;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float a = o.cotangent(row * n + k) * widen(scale[k]);
            first += a;
            second += a * ((widen(o.x[row * n + k]) - mean) * r);
        }
        first = o.means == nullptr ? 0 : Group::reduce(first, 0.0f, add()) / (float)n;
        second = Group::reduce(second, 0.0f, add()) / (float)n;
        for (int64_t k = Group::lane(); k < n; k += Group::SIZE) {
            float a = o.cotangent(row * n + k) * widen(scale[k]);
            float own = r * (a - first - (widen(o.x[row * n + k]) - mean) * r * second);
            dx[row * n + k] = narrow<T>(o.added == nullptr ? own : own + widen(o.added[row * n + k]));
        }
    }
}

/* A row of a gradient's operands as it lies in memory. AHEAD: with one of the two that may be missing, what is added to
 * the cotangent, or else to dx; otherwise these are read when they are needed. */
template <class Group, bool AHEAD, class T, int PACKS> struct norm_row {
    static constexpr int COUNT = PACK<T>;
    raw_pack<T, COUNT> dy[PACKS], x[PACKS], extra[AHEAD ? PACKS : 1];
    float mean, inverse;

    __device__ void ask(const norm_operands<T> &o, int64_t row, int64_t n) {
        const T *beside = o.more != nullptr ? o.more : o.added;
        mean = o.mean(row);
        inverse = o.inverses[row];
#pragma unroll
        for (int i = 0; i < PACKS; ++i) {
            int64_t k = column_of<Group, COUNT>(i), at = row * n + k;
            if (k >= n) continue;
            dy[i] = read_raw<COUNT>(o.dy, at);
            x[i] = read_raw<COUNT>(o.x, at);
            if (AHEAD && beside != nullptr) extra[i] = read_raw<COUNT>(beside, at);
        }
    }
};

/* The same of a row that fits into registers, which is in `in`; row `next` (-1: none) is asked for as soon as there is
 * room, and comes while this one is computed. By column: adds dy n to sums[0] and dy to sums[1], unless SUMS is false.
 */
template <class Group, bool SUMS, bool AHEAD, class T, class S, int PACKS, int COUNT>
__device__ inline void differentiate_row(int64_t row, int64_t next, int64_t n, const norm_operands<T> &o,
                                         norm_row<Group, AHEAD, T, PACKS> &in, const S *scale, T *dx,
                                         float (&sums)[2][PACKS][COUNT]) {
    float a[PACKS][COUNT] = {}, normal[PACKS][COUNT] = {};
    float mean = in.mean, r = in.inverse, first = 0, second = 0;
    raw_pack<T, COUNT> added[PACKS]; /* what `next` comes in the place of */
#pragma unroll
    for (int i = 0; i < PACKS; ++i) {
        int64_t k = column_of<Group, COUNT>(i), at = row * n + k;
        if (k >= n) continue;
        float scales[COUNT], more[COUNT] = {}, values[COUNT];
        read<COUNT>(scale, k, false, scales);
        if (o.more != nullptr) (AHEAD ? in.extra[i] : read_raw<COUNT>(o.more, at)).unpack(more);
        in.dy[i].unpack(a[i]);
        in.x[i].unpack(values);
#pragma unroll
        for (int j = 0; j < COUNT; ++j) {
            a[i][j] += more[j];
            normal[i][j] = (values[j] - mean) * r;
            if (SUMS) {
                sums[0][i][j] += a[i][j] * normal[i][j];
                sums[1][i][j] += a[i][j];
            }
            a[i][j] *= scales[j];
            first += a[i][j];
            second += a[i][j] * normal[i][j];
        }
        if (AHEAD) added[i] = in.extra[i];
    }
    if (AHEAD && next >= 0) in.ask(o, next, n);
    first = o.means == nullptr ? 0 : Group::reduce(first, 0.0f, add()) / (float)n;
    second = Group::reduce(second, 0.0f, add()) / (float)n;
#pragma unroll
    for (int i = 0; i < PACKS; ++i) {
        int64_t k = column_of<Group, COUNT>(i);
        if (k >= n) continue;
        float others[COUNT] = {};
        if (o.added != nullptr && !(AHEAD && o.more == nullptr)) added[i] = read_raw<COUNT>(o.added, row * n + k);
        if (o.added != nullptr) added[i].unpack(others);
#pragma unroll
        for (int j = 0; j < COUNT; ++j) a[i][j] = r * (a[i][j] - first - normal[i][j] * second) + others[j];
        write<COUNT>(dx, row * n + k, a[i]);
    }
}

template <class Group, class T, class S>
__global__ void norm_input_gradient_kept(ons_layer_norm norm, norm_operands<T> o, const S *scale, T *dx) {
    float none[2][KEPT / PACK<T>][PACK<T>];
    norm_row<Group, false, T, KEPT / PACK<T>> in;
    for (int64_t row = Group::first(); row < norm.rows; row += Group::stride()) {
        in.ask(o, row, norm.columns);
        differentiate_row<Group, false>(row, -1, norm.columns, o, in, scale, dx, none);
    }
}

/* Writes a block's sums by column: those of its groups, in their order. */
template <class Group, int PACKS, int COUNT>
__device__ inline void write_part_sums(int64_t n, const float (&sums)[2][PACKS][COUNT], float *partial) {
    if constexpr (Group::SIZE == ROW_THREADS) {
#pragma unroll
        for (int i = 0; i < PACKS; ++i) {
            int64_t k = column_of<Group, COUNT>(i);
#pragma unroll
            for (int j = 0; k < n && j < COUNT; ++j) {
                partial[k + j] = sums[0][i][j];
                partial[n + k + j] = sums[1][i][j];
            }
        }
    } else {
        __shared__ float joined[2][WARP_ROW];
        for (int group = 0; group < ROW_THREADS / Group::SIZE; ++group) {
            if ((int)threadIdx.x / Group::SIZE == group) {
#pragma unroll
                for (int i = 0; i < PACKS; ++i) {
                    int64_t k = column_of<Group, COUNT>(i);
#pragma unroll
                    for (int j = 0; k < n && j < COUNT; ++j)
#pragma unroll
                        for (int which = 0; which < 2; ++which)
                            joined[which][k + j] =
                                group == 0 ? sums[which][i][j] : joined[which][k + j] + sums[which][i][j];
                }
            }
            __syncthreads();
        }
        for (int64_t k = threadIdx.x; k < n; k += ROW_THREADS) {
            partial[k] = joined[0][k];
            partial[n + k] = joined[1][k];
        }
        __syncthreads(); /* they may be written again */
    }
}

/* All in one pass: dx, and the sums over the rows of each part, whose groups take row after row. PACKS: of a thread, as
 * few as hold a row. The sums take so many registers that few groups are under way; AHEAD: there are some left to ask
 * for a row while the one before is computed. */
template <class Group, int PACKS, bool AHEAD, class T, class S>
__global__ void __launch_bounds__(ROW_THREADS)
    norm_gradient_kept(ons_layer_norm norm, int parts, norm_operands<T> o, const S *scale, T *dx, float *partial) {
    constexpr int GROUPS = ROW_THREADS / Group::SIZE;
    for (int64_t part = blockIdx.x; part < parts; part += gridDim.x) {
        float sums[2][PACKS][PACK<T>] = {};
        int64_t row = norm.rows * part / parts + (int)threadIdx.x / Group::SIZE, end = norm.rows * (part + 1) / parts;
        norm_row<Group, AHEAD, T, PACKS> in;
        if (AHEAD && row < end) in.ask(o, row, norm.columns);
        for (; row < end; row += GROUPS) {
            if (!AHEAD) in.ask(o, row, norm.columns);
            int64_t next = AHEAD && row + GROUPS < end ? row + GROUPS : -1;
            differentiate_row<Group, true>(row, next, norm.columns, o, in, scale, dx, sums);
        }
        write_part_sums<Group>(norm.columns, sums, partial + 2 * part * norm.columns);
    }
}

constexpr int NORM_COLUMNS = 32, NORM_LANES = 8;

/* By all threads of a block: the sums of a column's lanes, in order. True for the first lane's threads, which get them.
 */
__device__ inline bool add_norm_simd(float *scale_sum, float *bias_sum) {
    __shared__ float of_scale[NORM_LANES][NORM_COLUMNS], of_bias[NORM_LANES][NORM_COLUMNS];
    int lane = (int)threadIdx.x / NORM_COLUMNS, column = (int)threadIdx.x % NORM_COLUMNS;
    of_scale[lane][column] = *scale_sum;
    of_bias[lane][column] = *bias_sum;
    __syncthreads();
    for (int i = 1; lane == 0 && i < NORM_LANES; ++i) {
        *scale_sum += of_scale[i][column];
        *bias_sum += of_bias[i][column];
    }
    __syncthreads(); /* they may be written again */
    return lane == 0;
}

/* Sums over the rows of one part for 32 columns: eight lanes take every eighth row, and are added in order. */
template <class T> __global__ void norm_part_sums(ons_layer_norm norm, int parts, norm_operands<T> o, float *partial) {
    int64_t across = (norm.columns + NORM_COLUMNS - 1) / NORM_COLUMNS;
    for (int64_t item = blockIdx.x; item < across * parts; item += gridDim.x) {
        int64_t part = item / across, column = item % across * NORM_COLUMNS + threadIdx.x % NORM_COLUMNS;
        int64_t begin = norm.rows * part / parts, end = norm.rows * (part + 1) / parts;
        int lane = (int)threadIdx.x / NORM_COLUMNS;
        float scale_sum = 0, bias_sum = 0;
        for (int64_t row = begin + lane; column < norm.columns && row < end; row += NORM_LANES) {
            float d = o.cotangent(row * norm.columns + column);
            scale_sum += d * ((widen(o.x[row * norm.columns + column]) - o.mean(row)) * o.inverses[row]);
            bias_sum += d;
        }
        if (add_norm_simd(&scale_sum, &bias_sum) && column < norm.columns) {
            partial[(2 * part) * norm.columns + column] = scale_sum;
            partial[(2 * part + 1) * norm.columns + column] = bias_sum;
        }
    }
}

/* Sums of the parts for 32 columns: each lane takes every eighth part, and lanes are added in order. */
template <class S>
__global__ void join_norm_parts(int64_t columns, int parts, const float *partial, S *dscale, S *dbias) {
    int64_t across = (columns + NORM_COLUMNS - 1) / NORM_COLUMNS;
    int lane = (int)threadIdx.x / NORM_COLUMNS;
    for (int64_t item = blockIdx.x; item < across; item += gridDim.x) {
        int64_t column = item * NORM_COLUMNS + threadIdx.x % NORM_COLUMNS;
        float scale_sum = 0, bias_sum = 0;
        int end = column < columns ? parts : 0;
#pragma unroll 8
        for (int part = lane; part < end; part += NORM_LANES) {
            scale_sum += partial[(2 * part) * columns + column];
            bias_sum += partial[(2 * part + 1) * columns + column];
        }
        bool sums = add_norm_simd(&scale_sum, &bias_sum) && column < columns;
        if (sums && dscale != nullptr) dscale[column] = narrow<S>(scale_sum);
        if (sums && dbias != nullptr) dbias[column] = narrow<S>(bias_sum);
    }
}

template <class T, class S>
void run_norm_gradient_of(const ons_launch *l, const float *means, const float *inverses, void *dbias) {
    const ons_cuda_norm *s = (const ons_cuda_norm *)l->state;
    const T *const *in = (const T *const *)l->inputs;
    const T *more = s->adds_before ? in[s->extra + 1] : nullptr, *added = s->adds ? in[s->extra] : nullptr;
    norm_operands<T> o = {in[0], more, in[1], means, inverses, added};
    const S *scale = (const S *)l->inputs[2];
    T *dx = (T *)l->outputs[0];
    float *partial = (float *)l->scratch;
    int64_t n = s->norm.columns;
    bool sums = l->outputs[1] != nullptr || dbias != nullptr, together = sums && dx != nullptr && fits_registers<T>(n);
    constexpr int MOST = KEPT / PACK<T>, FEWER = MOST * 3 / 4;
    auto all_in_one = [&](auto kernel) {
        launch(l, kernel, s->parts, ROW_THREADS, s->norm, s->parts, o, scale, dx, partial);
    };
    if (together && n <= WARP * FEWER * PACK<T>)
        all_in_one(norm_gradient_kept<warp_group, FEWER, sizeof(T) < sizeof(float), T, S>);
    else if (together && n <= WARP_ROW)
        all_in_one(norm_gradient_kept<warp_group, MOST, false, T, S>);
    else if (together)
        all_in_one(norm_gradient_kept<block_group, MOST, false, T, S>);
    else if (sums) /* before dx, which may take the place of what they read */
        launch(l, norm_part_sums<T>, (n + NORM_COLUMNS - 1) / NORM_COLUMNS * s->parts, NORM_COLUMNS * NORM_LANES,
               s->norm, s->parts, o, partial);
    if (sums)
        launch(l, join_norm_parts<S>, blocks_for(n, NORM_COLUMNS), NORM_COLUMNS * NORM_LANES, n, s->parts,
               (const float *)partial, (S *)l->outputs[1], (S *)dbias);
    if (dx != nullptr && !together) ONS_CUDA_LAUNCH_NORM(l, s->norm, norm_input_gradient, T, S, s->norm, o, scale, dx);
}

template <class T> void run_norm_gradient(const ons_launch *l, const float *means, const float *inverses, void *dbias) {
    if (((const ons_cuda_norm *)l->state)->affine == ONS_FLOAT32)
        run_norm_gradient_of<T, float>(l, means, inverses, dbias);
    else
        run_norm_gradient_of<T, T>(l, means, inverses, dbias);
}

} // namespace ons

#endif
