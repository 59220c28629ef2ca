/* LpNormalizationGradient on the CPU. */
#include "kernels/lp_normalization/lp_normalization_gradient.h"

#include "kernels/common/rows/rows.h"
#include "kernels/lp_normalization/lp_normalization.h"
#include "kernels/pooling/lp.h"

ons_status *ons_lp_normalization_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_lp_normalization *s;
    ONS_NEW_STATE(s, p);
    ONS_TRY(ons_lp_order(o, P, 2, &s->p));
    return ons_axis_view_of(o, &o->inputs[1].shape, ons_attribute_int(o, AXIS), false, &s->view);
}

/* What dy and the slope are multiplied by. */
static inline void find_factors(float sum, float product, int p, float *share, float *rest) {
    float norm = ons_lp_root(sum, p);
    *share = norm == 0 ? 0 : 1 / norm;
    *rest = p == 1 ? product * *share * *share : product * *share * *share * *share;
}

static inline __attribute__((always_inline)) void row(const float *x, const float *dy, float *dx, int64_t n, int p) {
    float sum = 0, product = 0, share, rest;
#pragma omp simd reduction(+ : sum, product)
    for (int64_t i = 0; i < n; ++i) {
        sum += ons_lp_term(x[i], p);
        product += dy[i] * x[i];
    }
    find_factors(sum, product, p, &share, &rest);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * share - ons_lp_slope(x[i], p) * rest;
}

static inline __attribute__((always_inline)) void columns(const float *x, const float *dy, float *dx, int64_t length,
                                                          int64_t stride, int width, int p) {
    float sums[ONS_COLUMNS] = {0}, products[ONS_COLUMNS] = {0};
    for (int64_t i = 0; i < length * stride; i += stride)
#pragma omp simd
        for (int k = 0; k < width; ++k) {
            sums[k] += ons_lp_term(x[i + k], p);
            products[k] += dy[i + k] * x[i + k];
        }
    for (int k = 0; k < width; ++k) find_factors(sums[k], products[k], p, &sums[k], &products[k]);
    for (int64_t i = 0; i < length * stride; i += stride)
#pragma omp simd
        for (int k = 0; k < width; ++k) dx[i + k] = dy[i + k] * sums[k] - ons_lp_slope(x[i + k], p) * products[k];
}

static void row_1(const float *x, const float *dy, float *dx, int64_t n) { row(x, dy, dx, n, 1); }

static void row_2(const float *x, const float *dy, float *dx, int64_t n) { row(x, dy, dx, n, 2); }

static void columns_1(const float *x, const float *dy, float *dx, int64_t length, int64_t stride, int width) {
    columns(x, dy, dx, length, stride, width, 1);
}

static void columns_2(const float *x, const float *dy, float *dx, int64_t length, int64_t stride, int width) {
    columns(x, dy, dx, length, stride, width, 2);
}

static void lp_normalization_gradient_run(const ons_launch *launch) {
    const ons_lp_normalization *s = launch->state;
    ons_each_row_gradient(&s->view, launch->inputs[1], launch->inputs[0], launch->outputs[0], s->p == 1 ? row_1 : row_2,
                          s->p == 1 ? columns_1 : columns_2);
}

ONS_KERNELS(cpu, lp_normalization_gradient,
            ONS_KERNEL(ons_lp_normalization_gradient_prepare, lp_normalization_gradient_run))
