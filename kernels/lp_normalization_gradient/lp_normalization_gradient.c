/* The gradient of LpNormalization's input, from the output's gradient and x, with n its norm along the axis:
 *   p = 1: dx = dy ÷ n - sign(x) Σ(dy x) ÷ n²,   p = 2: dx = dy ÷ n - x Σ(dy x) ÷ n³;   0 where n is 0. */
#include <math.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/lp.h"
#include "kernels/common/rows.h"
#include "kernels/lp_normalization/lp_normalization.h"

enum { AXIS, P };

static ons_status *lp_normalization_gradient_infer(ons_operands *o) {
    ons_axis_view view;
    int p;
    ONS_TRY(ons_lp_order(o, P, 2, &p));
    ONS_TRY(ons_axis_view_of(o, &o->inputs[1].shape, ons_attribute_int(o, AXIS), false, &view));
    if (!ons_type_equal(&o->inputs[0], &o->inputs[1])) return ons_node_error(o, "cotangent and input differ");
    o->outputs[0] = o->inputs[1];
    return NULL;
}

/* Norm and sum 4, the difference 3. */
static ons_cost lp_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){7 * (double)ons_elements(&o->inputs[1]), ons_operand_bytes(o)};
}

static void lp_normalization_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                void *const *outputs) {
    (void)step;
    ons_axis_view view = {0};
    ons_status_free(ons_axis_view_of(o, &o->inputs[1].shape, ons_attribute_int(o, AXIS), false, &view));
    int p = (int)ons_attribute_int(o, P);
    for (int64_t i = 0; i < view.outer * view.inner; ++i) {
        int64_t offset = i / view.inner * view.length * view.inner + i % view.inner;
        const double *dy = (const double *)inputs[0] + offset, *x = (const double *)inputs[1] + offset;
        double *dx = (double *)outputs[0] + offset, sum = 0, product = 0;
        for (int64_t k = 0; k < view.length * view.inner; k += view.inner) {
            sum += pow(fabs(x[k]), p);
            product += dy[k] * x[k];
        }
        double norm = pow(sum, 1.0 / p);
        for (int64_t k = 0; k < view.length * view.inner; k += view.inner)
            dx[k] = norm == 0 ? 0 : dy[k] / norm - ons_lp_slope_exact(x[k], p) * product / pow(norm, p + 1);
    }
}

static ons_status *lp_normalization_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_lp_normalization), &memory));
    ons_lp_normalization *s = memory;
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

static ons_status *lp_normalization_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, lp_normalization_gradient_prepare);
}

static const ons_case lp_normalization_gradient_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7)}, .tolerance = 1e-5, .flops = 245},
    {.name = "order_1",
     .inputs = {ONS_F32(5, 37), ONS_F32(5, 37)},
     .settings = {ONS_SET_INT("p", 1)},
     .tolerance = 1e-5,
     .flops = 1295},
    {.name = "columns",
     .inputs = {ONS_F32(2, 9, 71), ONS_F32(2, 9, 71)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 1e-5,
     .flops = 8946},
    {.name = "columns_1",
     .inputs = {ONS_F32(2, 9, 5), ONS_F32(2, 9, 5)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("p", 1)},
     .tolerance = 1e-5,
     .flops = 630},
    {.name = "zeros", .inputs = {ONS_F32(3, 5), ONS_F32_IN(0, 0, 3, 5)}, .flops = 105},
    {.name = "large",
     .inputs = {ONS_F32(2048, 512), ONS_F32(2048, 512)},
     .tolerance = 1e-5,
     .flops = 7340032,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(lp_normalization_gradient, "LpNormalizationGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_INT_ATTRIBUTE("p", 2)),
                    ONS_INFER(lp_normalization_gradient_infer), ONS_COST(lp_normalization_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(lp_normalization_gradient_reference),
                    ONS_CPU_KERNEL(lp_normalization_gradient_prepare, lp_normalization_gradient_run),
                    ONS_CUDA_KERNEL(lp_normalization_gradient_prepare_cuda, ons_cuda_lp_normalization_gradient),
                    lp_normalization_gradient_cases);
