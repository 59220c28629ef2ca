/* LpNormalization on the CPU. */
#include "kernels/lp_normalization/lp_normalization_node.h"

#include "kernels/common/rows/rows.h"
#include "kernels/pooling/lp.h"

ons_status *ons_lp_normalization_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_lp_normalization *s;
    ONS_NEW_STATE(s, p);
    ONS_TRY(ons_lp_order(o, P, 2, &s->p));
    return ons_axis_view_of(o, &o->inputs[0].shape, ons_attribute_int(o, AXIS), false, &s->view);
}

static inline float inverse_of(float norm) { return norm == 0 ? 0 : 1 / norm; }

static inline __attribute__((always_inline)) void row(const float *x, float *y, int64_t n, int p) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += ons_lp_term(x[i], p);
    float inverse = inverse_of(ons_lp_root(sum, p));
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * inverse;
}

static inline __attribute__((always_inline)) void columns(const float *x, float *y, int64_t length, int64_t stride,
                                                          int width, int p) {
    float sums[ONS_COLUMNS] = {0};
    for (int64_t i = 0; i < length; ++i)
#pragma omp simd
        for (int k = 0; k < width; ++k) sums[k] += ons_lp_term(x[i * stride + k], p);
    for (int k = 0; k < width; ++k) sums[k] = inverse_of(ons_lp_root(sums[k], p));
    for (int64_t i = 0; i < length; ++i)
#pragma omp simd
        for (int k = 0; k < width; ++k) y[i * stride + k] = x[i * stride + k] * sums[k];
}

static void row_1(const float *x, float *y, int64_t n) { row(x, y, n, 1); }

static void row_2(const float *x, float *y, int64_t n) { row(x, y, n, 2); }

static void columns_1(const float *x, float *y, int64_t length, int64_t stride, int width) {
    columns(x, y, length, stride, width, 1);
}

static void columns_2(const float *x, float *y, int64_t length, int64_t stride, int width) {
    columns(x, y, length, stride, width, 2);
}

static void lp_normalization_run(const ons_launch *launch) {
    const ons_lp_normalization *s = launch->state;
    ons_each_row(&s->view, launch->inputs[0], launch->outputs[0], s->p == 1 ? row_1 : row_2,
                 s->p == 1 ? columns_1 : columns_2);
}

ONS_KERNELS(cpu, lp_normalization, ONS_KERNEL(ons_lp_normalization_prepare, lp_normalization_run))
