/* Hardmax: 1 at the first of the largest elements along an axis, 0 elsewhere. */
#include <math.h>
#include <string.h>

#include "kernels/common/cuda_rows.h"
#include "kernels/common/softmax.h"

/* NaN counts as the largest, as in NumPy. */
#define IS_LARGER(A, B) ((A) > (B) || ((A) != (A) && (B) == (B)))

static void hardmax_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    (void)step;
    ons_axis_view view = ons_softmax_view(o);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t row = 0; row < view.outer * view.inner && view.length > 0; ++row) {
        int64_t first = row / view.inner * view.length * view.inner + row % view.inner, best = 0;
        for (int64_t k = 1; k < view.length; ++k)
            if (IS_LARGER(x[first + k * view.inner], x[first + best * view.inner])) best = k;
        for (int64_t k = 0; k < view.length; ++k) y[first + k * view.inner] = k == best;
    }
}

static void hardmax_row(const float *x, float *y, int64_t n) {
    int64_t best = 0;
    if (n == 0) return;
    for (int64_t k = 1; k < n; ++k)
        if (IS_LARGER(x[k], x[best])) best = k;
    memset(y, 0, (size_t)n * sizeof *y);
    y[best] = 1;
}

static void hardmax_columns(const float *x, float *y, int64_t length, int64_t stride, int width) {
    float max[ONS_COLUMNS];
    int64_t best[ONS_COLUMNS] = {0};
    for (int c = 0; length > 0 && c < width; ++c) max[c] = x[c];
    for (int64_t k = 1; k < length; ++k)
        for (int c = 0; c < width; ++c)
            if (IS_LARGER(x[k * stride + c], max[c])) {
                max[c] = x[k * stride + c];
                best[c] = k;
            }
    for (int64_t k = 0; k < length; ++k)
        for (int c = 0; c < width; ++c) y[k * stride + c] = k == best[c] ? 1.0f : 0.0f;
}

static void hardmax_run(const ons_launch *launch) {
    ons_each_row(launch->state, launch->inputs[0], launch->outputs[0], hardmax_row, hardmax_columns);
}

static const ons_case hardmax_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7)}, .flops = 35},
    {.name = "axis_1", .inputs = {ONS_F32(2, 5, 3, 29)}, .settings = {ONS_SET_INT("axis", 1)}, .flops = 870},
    {.name = "axis_0", .inputs = {ONS_F32(3, 70)}, .settings = {ONS_SET_INT("axis", 0)}, .flops = 210},
    {.name = "axis_from_end", .inputs = {ONS_F32(2, 3, 4)}, .settings = {ONS_SET_INT("axis", -2)}, .flops = 24},
    {.name = "flatten",
     .inputs = {ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("onstage_flatten", 1)},
     .flops = 24},
    {.name = "equal",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 4), .value_count = 4, .values = {1, 3, 3, -2}}},
     .flops = 12},
    {.name = "edges",
     .inputs = {{.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(2, 4),
                 .value_count = 8,
                 .values = {1, NAN, 3, NAN, -INFINITY, -INFINITY, -INFINITY, -INFINITY}}},
     .flops = 8},
    {.name = "double", .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 5)}, .flops = 15},
    {.name = "rank0", .inputs = {ONS_F32()}, .flops = 1},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = "no_such_axis", .inputs = {ONS_F32(2, 3)}, .settings = {ONS_SET_INT("axis", 2)}, .error = "axis 2"},
    {.name = "integer", .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 3)}, .error = "float"},
    {.name = "large", .inputs = {ONS_F32(4096, 1000)}, .flops = 4096000, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(hardmax, "Hardmax", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_SOFTMAX_ATTRIBUTES,
                    ONS_INFER(ons_softmax_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the result jumps between 0 and 1 and is constant in between"),
                    ONS_SAVES_NOTHING, ONS_ANY_PRECISION_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_softmax_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(hardmax_reference),
                    ONS_CPU_KERNEL(ons_softmax_prepare, hardmax_run),
                    ONS_CUDA_KERNEL(ons_cuda_softmax_prepare, ons_cuda_hardmax), hardmax_cases);
