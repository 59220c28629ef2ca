/* Gradient of PRelu's data: from cotangent, data and slope, the cotangent, times the slope where the data is negative.
 */
#include "kernels/common/broadcast.h"
#include "kernels/common/cases.h"
#include "kernels/common/checks.h"
#include "kernels/common/cuda_elementwise.h"

static ons_status *prelu_gradient_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(ons_infer_broadcast(o));
    if (!ons_shape_equal(&o->outputs[0].shape, &o->inputs[0].shape) ||
        !ons_shape_equal(&o->outputs[0].shape, &o->inputs[1].shape))
        return ons_node_error(o, "cotangent and data differ in shape");
    return NULL;
}

static void prelu_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    (void)step;
    const double *dy = inputs[0], *x = inputs[1], *slope = inputs[2];
    const ons_shape *shape = &o->outputs[0].shape;
    for (int64_t i = 0, n = ons_shape_elements(shape); i < n; ++i)
        ((double *)outputs[0])[i] =
            x[i] < 0 ? dy[i] * slope[ons_broadcast_index(shape, &o->inputs[2].shape, i)] : dy[i];
}

/* Cotangent and data have every element. */
static void prelu_gradient_span(const ons_span *span) {
    const float *dy = span->inputs[0], *x = span->inputs[1], *slope = span->inputs[2];
    float *dx = span->output;
    if (span->steps[2] == 0) {
        float one = *slope;
#pragma omp simd
        for (int64_t i = 0; i < span->count; ++i) dx[i] = x[i] < 0 ? dy[i] * one : dy[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < span->count; ++i) dx[i] = x[i] < 0 ? dy[i] * slope[i] : dy[i];
    }
}

static ons_status *prelu_gradient_prepare(ons_prepare *p) {
    ons_broadcast *state;
    ONS_TRY(ons_require_float32(p->operands));
    return ons_broadcast_prepare(p, prelu_gradient_span, &state);
}

static const ons_case prelu_gradient_cases[] = {
    {.name = "same", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "channels",
     .inputs = {ONS_F32(2, 3, 5, 7), ONS_F32(2, 3, 5, 7), ONS_F32(3, 1, 1)},
     .tolerance = 1e-6,
     .flops = 210},
    {.name = "row", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "one_column", .inputs = {ONS_F32(5, 1), ONS_F32(5, 1), ONS_F32(1)}, .tolerance = 1e-6, .flops = 5},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4), ONS_F32(4)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32(64, 64, 56, 56), ONS_F32(64, 1, 1)},
     .tolerance = 1e-6,
     .flops = 12845056,
     .benchmark = true},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(7), ONS_F32(7)}, .error = "differ"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(prelu_gradient, "PReluGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(prelu_gradient_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, 0, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(prelu_gradient_reference), ONS_CPU_KERNEL(prelu_gradient_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_prelu_gradient), prelu_gradient_cases);
