/* Gradient of LogSoftmax: from output y and cotangent dy, dx = dy - e^y Σ dy. */
#include <math.h>

#include "kernels/common/cuda_rows.h"
#include "kernels/common/softmax.h"

static void log_softmax_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    (void)step;
    ons_axis_view view = ons_softmax_view(o);
    const double *y = inputs[0], *dy = inputs[1];
    double *dx = outputs[0];
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
        int64_t first = row / view.inner * view.length * view.inner + row % view.inner;
        double sum = 0;
        for (int64_t i = first; i < first + view.length * view.inner; i += view.inner) sum += dy[i];
        for (int64_t i = first; i < first + view.length * view.inner; i += view.inner) dx[i] = dy[i] - exp(y[i]) * sum;
    }
}

static void log_softmax_gradient_run(const ons_launch *launch) {
    ons_each_row_gradient(launch->state, launch->inputs[0], launch->inputs[1], launch->outputs[0],
                          ons_row_log_softmax_gradient, ons_columns_log_softmax_gradient);
}

static ons_cost log_softmax_gradient_cost(const ons_operands *o) {
    return (ons_cost){4 * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

static const ons_case log_softmax_gradient_cases[] = {
    {.name = "rows", .inputs = {ONS_F32_IN(-4, 0, 5, 7), ONS_F32(5, 7)}, .tolerance = 1e-5, .flops = 140},
    {.name = "long_rows", .inputs = {ONS_F32_IN(-9, -5, 3, 333), ONS_F32(3, 333)}, .tolerance = 1e-5, .flops = 3996},
    {.name = "axis_1",
     .inputs = {ONS_F32_IN(-4, 0, 2, 5, 3, 29), ONS_F32(2, 5, 3, 29)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 1e-5,
     .flops = 3480},
    {.name = "flatten",
     .inputs = {ONS_F32_IN(-4, 0, 2, 3, 4), ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("onstage_flatten", 1)},
     .tolerance = 1e-5,
     .flops = 96},
    {.name = "rank0", .inputs = {ONS_F32_IN(-1, 0), ONS_F32()}, .tolerance = 1e-5, .flops = 4},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4)}, .flops = 0},
    {.name = "vocabulary",
     .inputs = {ONS_F32_IN(-12, -8, 128, 10000), ONS_F32(128, 10000)},
     .tolerance = 1e-5,
     .flops = 5120000,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(log_softmax_gradient, "LogSoftmaxGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_SOFTMAX_ATTRIBUTES, ONS_INFER(ons_softmax_infer), ONS_COST(log_softmax_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(log_softmax_gradient_reference),
                    ONS_CPU_KERNEL(ons_softmax_prepare, log_softmax_gradient_run),
                    ONS_CUDA_KERNEL(ons_cuda_softmax_prepare, ons_cuda_log_softmax_gradient),
                    log_softmax_gradient_cases);
