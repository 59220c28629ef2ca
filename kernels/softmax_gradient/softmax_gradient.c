/* Gradient of Softmax: from output y and cotangent dy, dx = y (dy - Σ dy y). */
#include "kernels/common/cuda_rows.h"
#include "kernels/common/softmax.h"

static void softmax_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    (void)step;
    ons_axis_view view = ons_softmax_view(o);
    const double *y = inputs[0], *dy = inputs[1];
    double *dx = outputs[0];
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
        int64_t first = row / view.inner * view.length * view.inner + row % view.inner;
        double dot = 0;
        for (int64_t i = first; i < first + view.length * view.inner; i += view.inner) dot += y[i] * dy[i];
        for (int64_t i = first; i < first + view.length * view.inner; i += view.inner) dx[i] = y[i] * (dy[i] - dot);
    }
}

static void softmax_gradient_run(const ons_launch *launch) {
    ons_each_row_gradient(launch->state, launch->inputs[0], launch->inputs[1], launch->outputs[0],
                          ons_row_softmax_gradient, ons_columns_softmax_gradient);
}

static ons_cost softmax_gradient_cost(const ons_operands *o) {
    return (ons_cost){4 * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

static const ons_case softmax_gradient_cases[] = {
    {.name = "rows", .inputs = {ONS_F32_IN(0, 1, 5, 7), ONS_F32(5, 7)}, .tolerance = 1e-5, .flops = 140},
    {.name = "long_rows", .inputs = {ONS_F32_IN(0, 0.01, 3, 333), ONS_F32(3, 333)}, .tolerance = 1e-5, .flops = 3996},
    {.name = "axis_1",
     .inputs = {ONS_F32_IN(0, 1, 2, 5, 3, 29), ONS_F32(2, 5, 3, 29)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 1e-5,
     .flops = 3480},
    {.name = "flatten",
     .inputs = {ONS_F32_IN(0, 1, 2, 3, 4), ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("onstage_flatten", 1)},
     .tolerance = 1e-5,
     .flops = 96},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-5, .flops = 4},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4)}, .flops = 0},
    {.name = "attention",
     .inputs = {ONS_F32_IN(0, 0.02, 16, 4, 128, 128), ONS_F32(16, 4, 128, 128)},
     .tolerance = 1e-5,
     .flops = 4194304,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(softmax_gradient, "SoftmaxGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_SOFTMAX_ATTRIBUTES,
                    ONS_INFER(ons_softmax_infer), ONS_COST(softmax_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(softmax_gradient_reference),
                    ONS_CPU_KERNEL(ons_softmax_prepare, softmax_gradient_run),
                    ONS_CUDA_KERNEL(ons_cuda_softmax_prepare, ons_cuda_softmax_gradient), softmax_gradient_cases);
