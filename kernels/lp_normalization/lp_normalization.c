/* LpNormalization: x ÷ its norm along an axis, Σ|x| or √Σx²; 0 where the norm is 0. */
#include <math.h>
#include <string.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/lp.h"
#include "kernels/common/rows.h"
#include "kernels/lp_normalization/lp_normalization.h"

enum { AXIS, P };

static ons_status *lp_normalization_infer(ons_operands *o) {
    ons_axis_view view;
    int p;
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "needs a float operand, not %s", ons_dtype_name(o->inputs[0].dtype));
    ONS_TRY(ons_lp_order(o, P, 2, &p));
    ONS_TRY(ons_axis_view_of(o, &o->inputs[0].shape, ons_attribute_int(o, AXIS), false, &view));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

/* The norm 2, the division 1. */
static ons_cost lp_normalization_cost(const ons_operands *o) {
    return (ons_cost){3 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void lp_normalization_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    (void)step;
    ons_axis_view view = {0};
    ons_status_free(ons_axis_view_of(o, &o->inputs[0].shape, ons_attribute_int(o, AXIS), false, &view));
    bool squares = ons_attribute_int(o, P) == 2;
    for (int64_t i = 0; i < view.outer * view.inner; ++i) {
        int64_t offset = i / view.inner * view.length * view.inner + i % view.inner;
        const double *x = (const double *)inputs[0] + offset;
        double *y = (double *)outputs[0] + offset, sum = 0;
        for (int64_t k = 0; k < view.length; ++k) {
            double value = x[k * view.inner];
            sum += squares ? value * value : fabs(value);
        }
        double norm = squares ? sqrt(sum) : sum;
        for (int64_t k = 0; k < view.length; ++k) y[k * view.inner] = norm == 0 ? 0 : x[k * view.inner] / norm;
    }
}

static ons_status *lp_normalization_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_lp_normalization), &memory));
    ons_lp_normalization *s = memory;
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

static ons_status *lp_normalization_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_build(g->builder, &ons_op_lp_normalization_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)),
                  ONS_WITH(ONS_AT_INT(AXIS, ons_attribute_int(g->operands, AXIS)),
                           ONS_AT_INT(P, ons_attribute_int(g->operands, P))));
    return NULL;
}

static ons_status *lp_normalization_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, lp_normalization_prepare);
}

static const ons_case lp_normalization_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 105},
    {.name = "order_1", .inputs = {ONS_F32(5, 37)}, .settings = {ONS_SET_INT("p", 1)}, .tolerance = 1e-6, .flops = 555},
    {.name = "columns",
     .inputs = {ONS_F32(2, 9, 5)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 1e-6,
     .flops = 270},
    {.name = "columns_1",
     .inputs = {ONS_F32(9, 71)},
     .settings = {ONS_SET_INT("axis", 0), ONS_SET_INT("p", 1)},
     .tolerance = 1e-6,
     .flops = 1917},
    {.name = "from_end",
     .inputs = {ONS_F32(2, 3, 4, 5)},
     .settings = {ONS_SET_INT("axis", -2)},
     .tolerance = 1e-6,
     .flops = 360},
    {.name = "zeros", .inputs = {ONS_F32_IN(0, 0, 3, 5)}, .flops = 45, .no_gradient = true},
    {.name = "threads", .inputs = {ONS_F32(301, 100)}, .tolerance = 1e-6, .flops = 90300, .no_gradient = true},
    {.name = "empty", .inputs = {ONS_F32(0, 7)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(2048, 512)}, .tolerance = 1e-6, .flops = 3145728, .benchmark = true},
    {.name = "order_3", .inputs = {ONS_F32(3, 4)}, .settings = {ONS_SET_INT("p", 3)}, .error = "p is 3"},
    {.name = "outside", .inputs = {ONS_F32(3, 4)}, .settings = {ONS_SET_INT("axis", 2)}, .error = "axis 2"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(lp_normalization, "LpNormalization", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_INT_ATTRIBUTE("p", 2)),
                    ONS_INFER(lp_normalization_infer), ONS_COST(lp_normalization_cost),
                    ONS_GRADIENT_RULE(lp_normalization_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(lp_normalization_reference),
                    ONS_CPU_KERNEL(lp_normalization_prepare, lp_normalization_run),
                    ONS_CUDA_KERNEL(lp_normalization_prepare_cuda, ons_cuda_lp_normalization), lp_normalization_cases);
