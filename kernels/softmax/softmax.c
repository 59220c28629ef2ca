/* Softmax: e^(x - max) / Σ e^(x - max) along an axis. */
#include <math.h>

#include "kernels/common/cuda_rows.h"
#include "kernels/common/softmax.h"

static void softmax_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    (void)step;
    ons_axis_view view = ons_softmax_view(o);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
        int64_t first = row / view.inner * view.length * view.inner + row % view.inner;
        double max = -INFINITY, sum = 0;
        for (int64_t k = 0; k < view.length; ++k) max = fmax(max, x[first + k * view.inner]);
        for (int64_t k = 0; k < view.length; ++k) sum += exp(x[first + k * view.inner] - max);
        for (int64_t k = 0; k < view.length; ++k)
            y[first + k * view.inner] = exp(x[first + k * view.inner] - max) / sum;
    }
}

static void softmax_run(const ons_launch *launch) {
    ons_each_row(launch->state, launch->inputs[0], launch->outputs[0], ons_row_softmax, ons_columns_softmax);
}

/* Subtract, maximum, exponential, sum and division: five operations an element. */
static ons_cost softmax_cost(const ons_operands *o) {
    return (ons_cost){5 * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

static ons_status *softmax_gradient(ons_gradient *g) { return ons_softmax_build_gradient(g, &ons_op_softmax_gradient); }

static const ons_case softmax_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7)}, .tolerance = 2e-6, .flops = 175},
    {.name = "long_rows", .inputs = {ONS_F32_IN(-20, 20, 3, 333)}, .tolerance = 2e-6, .flops = 4995},
    {.name = "one_column", .inputs = {ONS_F32(4, 1)}, .tolerance = 2e-6, .flops = 20},
    {.name = "axis_1",
     .inputs = {ONS_F32(2, 5, 3, 29)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 2e-6,
     .flops = 4350},
    {.name = "axis_0",
     .inputs = {ONS_F32(3, 70)},
     .settings = {ONS_SET_INT("axis", 0)},
     .tolerance = 2e-6,
     .flops = 1050},
    {.name = "axis_from_end",
     .inputs = {ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("axis", -2)},
     .tolerance = 2e-6,
     .flops = 120},
    {.name = "flatten",
     .inputs = {ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("onstage_flatten", 1)},
     .tolerance = 2e-6,
     .flops = 120},
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 2e-6, .flops = 5},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = "all_negative", .inputs = {ONS_F32_IN(-200, -100, 3, 20)}, .tolerance = 2e-6, .flops = 300},
    {.name = "masked",
     .inputs =
         {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 5), .value_count = 5, .values = {0.5, -1e30, 2, -INFINITY, 1}}},
     .tolerance = 2e-6,
     .flops = 75,
     .no_gradient = true},
    {.name = "no_such_axis", .inputs = {ONS_F32(2, 3)}, .settings = {ONS_SET_INT("axis", 2)}, .error = "axis 2"},
    {.name = "threads", .inputs = {ONS_F32(300, 65)}, .tolerance = 2e-6, .flops = 97500, .no_gradient = true},
    {.name = "attention",
     .inputs = {ONS_F32_IN(-4, 4, 16, 4, 128, 128)},
     .tolerance = 2e-6,
     .flops = 5242880,
     .benchmark = true},
    {.name = "pixels",
     .inputs = {ONS_F32_IN(-4, 4, 4, 21, 128, 128)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 2e-6,
     .flops = 6881280,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(softmax, "Softmax", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_SOFTMAX_ATTRIBUTES,
                    ONS_INFER(ons_softmax_infer), ONS_COST(softmax_cost),
                    ONS_GRADIENT_RULE(softmax_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                    ONS_ANY_PRECISION_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_softmax_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(softmax_reference),
                    ONS_CPU_KERNEL(ons_softmax_prepare, softmax_run),
                    ONS_CUDA_KERNEL(ons_cuda_softmax_prepare, ons_cuda_softmax), softmax_cases);
