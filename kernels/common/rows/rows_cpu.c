/* What the CPU runs of rows.h. */
#include "kernels/common/rows/rows.h"

#include <math.h>

#include "kernels/common/math/simd.h"

static float row_max(const float *x, int64_t n) {
    ons_simd_float max = ons_simd_all(-INFINITY);
    int64_t i = 0;
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS) max = ons_simd_max(max, ons_simd_load(x + i));
    if (i < n) max = ons_simd_max(max, ons_simd_load_some(x + i, n - i, -INFINITY));
    return ons_simd_max_of(max);
}

/* Σ e^(x - shift), and its terms to y where y is given. */
static inline float exp_and_sum(const float *x, float shift, float *y, int64_t n) {
    ons_simd_float sum = {0};
    int64_t i = 0;
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS) {
        ons_simd_float e = ons_simd_exp(ons_simd_load(x + i) - shift);
        if (y != NULL) ons_simd_store(y + i, e);
        sum += e;
    }
    if (i < n) {
        ons_simd_float e = ons_simd_exp(ons_simd_load_some(x + i, n - i, -INFINITY) - shift);
        if (y != NULL) ons_simd_store_some(y + i, e, n - i);
        /* A shift of -inf makes the empty lanes NaN too; the row's own elements are NaN then already. */
        sum += e;
    }
    return ons_simd_sum_of(sum);
}

/* What is made of lanes of two rows; `k`: the row's constants. */
typedef ons_simd_float lanes_of_pair(ons_simd_float a, ons_simd_float b, const float *k);

/* y = f(x, z) for a whole row, compiled for each f; z NULL: of x alone. */
__attribute__((always_inline)) static inline void map_pair(const float *x, const float *z, float *y, int64_t n,
                                                           lanes_of_pair *f, const float *k) {
    const ons_simd_float none = {0};
    int64_t i = 0;
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS)
        ons_simd_store(y + i, f(ons_simd_load(x + i), z == NULL ? none : ons_simd_load(z + i), k));
    if (i == n) return;
    ons_simd_float a = ons_simd_load_some(x + i, n - i, 0);
    ons_simd_store_some(y + i, f(a, z == NULL ? none : ons_simd_load_some(z + i, n - i, 0), k), n - i);
}

static inline ons_simd_float scaled(ons_simd_float a, ons_simd_float b, const float *k) {
    (void)b;
    return a * k[0];
}
static inline ons_simd_float twice_shifted(ons_simd_float a, ons_simd_float b, const float *k) {
    (void)b;
    return (a - k[0]) - k[1];
}
static inline ons_simd_float scaled_exp(ons_simd_float a, ons_simd_float b, const float *k) {
    (void)b;
    return ons_simd_exp(a - k[0]) * k[1];
}
static inline ons_simd_float scaled_exp_of_pair(ons_simd_float a, ons_simd_float b, const float *k) {
    return ons_simd_exp(a - b) * k[0];
}
static inline ons_simd_float softmax_slope(ons_simd_float a, ons_simd_float b, const float *k) {
    return a * (b - k[0]);
}
static inline ons_simd_float log_softmax_slope(ons_simd_float a, ons_simd_float b, const float *k) {
    return b - ons_simd_exp(a) * k[0];
}

void ons_row_softmax(const float *x, float *y, int64_t n) {
    float max = row_max(x, n);
    float scale = 1.0f / exp_and_sum(x, max, y, n);
    map_pair(y, NULL, y, n, scaled, &scale);
}

void ons_row_log_softmax(const float *x, float *y, int64_t n) {
    float max = row_max(x, n);
    float log_sum = logf(exp_and_sum(x, max, NULL, n));
    map_pair(x, NULL, y, n, twice_shifted, (const float[]){max, log_sum});
}

void ons_row_max_and_log_sum(const float *x, int64_t n, float *max, float *log_sum) {
    *max = row_max(x, n);
    *log_sum = logf(exp_and_sum(x, *max, NULL, n));
}

float ons_row_gaps(const float *x, float max, const float *weights, int64_t n) {
    ons_simd_float sum = {0}, one = ons_simd_all(1);
    int64_t i = 0;
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS)
        sum += (weights == NULL ? one : ons_simd_load(weights + i)) * (max - ons_simd_load(x + i));
    if (i < n) {
        ons_simd_float gap = max - ons_simd_load_some(x + i, n - i, max);
        sum += (weights == NULL ? one : ons_simd_load_some(weights + i, n - i, 0)) * gap;
    }
    return ons_simd_sum_of(sum);
}

void ons_row_scaled_exp(const float *x, float shift, float scale, float *y, int64_t n) {
    map_pair(x, NULL, y, n, scaled_exp, (const float[]){shift, scale});
}

void ons_shifted_exp(const float *x, const float *shifts, float scale, float *y, int64_t n) {
    map_pair(x, shifts, y, n, scaled_exp_of_pair, &scale);
}

static float row_dot(const float *x, const float *y, int64_t n) {
    ons_simd_float sum = {0};
    int64_t i = 0;
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS) sum += ons_simd_load(x + i) * ons_simd_load(y + i);
    if (i < n) sum += ons_simd_load_some(x + i, n - i, 0) * ons_simd_load_some(y + i, n - i, 0);
    return ons_simd_sum_of(sum);
}

static float row_sum(const float *x, int64_t n) {
    ons_simd_float sum = {0};
    int64_t i = 0;
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS) sum += ons_simd_load(x + i);
    if (i < n) sum += ons_simd_load_some(x + i, n - i, 0);
    return ons_simd_sum_of(sum);
}

void ons_row_softmax_gradient(const float *y, const float *dy, float *dx, int64_t n) {
    float dot = row_dot(y, dy, n);
    map_pair(y, dy, dx, n, softmax_slope, &dot);
}

void ons_row_log_softmax_gradient(const float *y, const float *dy, float *dx, int64_t n) {
    float sum = row_sum(dy, n);
    map_pair(y, dy, dx, n, log_softmax_slope, &sum);
}

/* Largest element of every column, and Σ e^(x - max). */
static inline void columns_max_and_sum(const float *x, int64_t length, int64_t stride, int width, float *max,
                                       float *sum) {
    for (int c = 0; c < width; ++c) {
        max[c] = -INFINITY;
        sum[c] = 0;
    }
    for (int64_t k = 0; k < length; ++k) {
        const float *row = x + k * stride;
#pragma omp simd
        for (int c = 0; c < width; ++c) max[c] = row[c] > max[c] ? row[c] : max[c];
    }
    for (int64_t k = 0; k < length; ++k) {
        const float *row = x + k * stride;
#pragma omp simd
        for (int c = 0; c < width; ++c) sum[c] += ons_exp(row[c] - max[c]);
    }
}

void ons_columns_softmax(const float *x, float *y, int64_t length, int64_t stride, int width) {
    float max[ONS_COLUMNS], sum[ONS_COLUMNS];
    columns_max_and_sum(x, length, stride, width, max, sum);
    for (int c = 0; c < width; ++c) sum[c] = 1.0f / sum[c];
    for (int64_t k = 0; k < length; ++k) {
        const float *from = x + k * stride;
        float *to = y + k * stride;
#pragma omp simd
        for (int c = 0; c < width; ++c) to[c] = ons_exp(from[c] - max[c]) * sum[c];
    }
}

void ons_columns_log_softmax(const float *x, float *y, int64_t length, int64_t stride, int width) {
    float max[ONS_COLUMNS], sum[ONS_COLUMNS];
    columns_max_and_sum(x, length, stride, width, max, sum);
    for (int c = 0; c < width; ++c) sum[c] = logf(sum[c]);
    for (int64_t k = 0; k < length; ++k) {
        const float *from = x + k * stride;
        float *to = y + k * stride;
#pragma omp simd
        for (int c = 0; c < width; ++c) to[c] = (from[c] - max[c]) - sum[c];
    }
}

void ons_columns_max_and_log_sum(const float *x, int64_t length, int64_t stride, int width, float *max,
                                 float *log_sum) {
    columns_max_and_sum(x, length, stride, width, max, log_sum);
    for (int c = 0; c < width; ++c) log_sum[c] = logf(log_sum[c]);
}

void ons_columns_gaps(const float *x, const float *max, const float *weights, int64_t length, int64_t stride, int width,
                      float *gaps) {
    for (int c = 0; c < width; ++c) gaps[c] = 0;
    for (int64_t k = 0; k < length; ++k) {
        const float *a = x + k * stride;
        float weight = weights == NULL ? 1 : weights[k];
#pragma omp simd
        for (int c = 0; c < width; ++c) gaps[c] += weight * (max[c] - a[c]);
    }
}

void ons_columns_softmax_gradient(const float *y, const float *dy, float *dx, int64_t length, int64_t stride,
                                  int width) {
    float dot[ONS_COLUMNS] = {0};
    for (int64_t k = 0; k < length; ++k) {
        const float *a = y + k * stride, *b = dy + k * stride;
#pragma omp simd
        for (int c = 0; c < width; ++c) dot[c] += a[c] * b[c];
    }
    for (int64_t k = 0; k < length; ++k) {
        const float *a = y + k * stride, *b = dy + k * stride;
        float *to = dx + k * stride;
#pragma omp simd
        for (int c = 0; c < width; ++c) to[c] = a[c] * (b[c] - dot[c]);
    }
}

void ons_columns_log_softmax_gradient(const float *y, const float *dy, float *dx, int64_t length, int64_t stride,
                                      int width) {
    float sum[ONS_COLUMNS] = {0};
    for (int64_t k = 0; k < length; ++k) {
        const float *b = dy + k * stride;
#pragma omp simd
        for (int c = 0; c < width; ++c) sum[c] += b[c];
    }
    for (int64_t k = 0; k < length; ++k) {
        const float *a = y + k * stride, *b = dy + k * stride;
        float *to = dx + k * stride;
#pragma omp simd
        for (int c = 0; c < width; ++c) to[c] = b[c] - ons_exp(a[c]) * sum[c];
    }
}

void ons_each_row(const ons_axis_view *view, const float *x, float *y, ons_row_function *row,
                  ons_columns_function *columns) {
    int64_t outer = view->outer, length = view->length, inner = view->inner;
    bool parallel = outer * length * inner > ONS_PARALLEL_GRAIN;
    if (inner == 1) {
#pragma omp parallel for schedule(static) if (parallel)
        for (int64_t i = 0; i < outer; ++i) row(x + i * length, y + i * length, length);
        return;
    }
    int64_t blocks = ons_column_blocks(view);
#pragma omp parallel for schedule(static) if (parallel)
    for (int64_t block = 0; block < blocks; ++block) {
        ons_column_block at = ons_column_block_at(view, block);
        columns(x + at.offset, y + at.offset, length, inner, at.width);
    }
}

void ons_each_row_gradient(const ons_axis_view *view, const float *y, const float *dy, float *dx,
                           ons_row_gradient_function *row, ons_columns_gradient_function *columns) {
    int64_t outer = view->outer, length = view->length, inner = view->inner;
    bool parallel = outer * length * inner > ONS_PARALLEL_GRAIN;
    if (inner == 1) {
#pragma omp parallel for schedule(static) if (parallel)
        for (int64_t i = 0; i < outer; ++i) row(y + i * length, dy + i * length, dx + i * length, length);
        return;
    }
    int64_t blocks = ons_column_blocks(view);
#pragma omp parallel for schedule(static) if (parallel)
    for (int64_t block = 0; block < blocks; ++block) {
        ons_column_block at = ons_column_block_at(view, block);
        columns(y + at.offset, dy + at.offset, dx + at.offset, length, inner, at.width);
    }
}
