/* Gradient of Clip: the cotangent where the input lies within the bounds, which belong to the inside; 0 elsewhere. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/unary.h"

static ons_status *clip_gradient_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    if (!ons_shape_equal(&o->inputs[0].shape, &o->inputs[1].shape))
        return ons_node_error(o, "cotangent and input differ in shape");
    return ons_infer_like_first(o);
}

static void clip_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    (void)step;
    const double *dy = inputs[0], *x = inputs[1];
    double low = ons_has_input(o, 2) ? *(const double *)inputs[2] : -INFINITY;
    double high = ons_has_input(o, 3) ? *(const double *)inputs[3] : INFINITY;
    double *dx = outputs[0];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) dx[i] = x[i] >= low && x[i] <= high ? dy[i] : 0;
}

static void clip_gradient_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1];
    const float *minimum = ons_unary_input(launch, 2), *maximum = ons_unary_input(launch, 3);
    float low = minimum == NULL ? -INFINITY : *minimum, high = maximum == NULL ? INFINITY : *maximum;
    float *dx = launch->outputs[0];
    int64_t n = state->elements;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) dx[i] = ((x[i] >= low) & (x[i] <= high)) ? dy[i] : 0.0f;
}

static ons_status *clip_gradient_cuda_prepare(ons_prepare *p) { return ons_cuda_leading_prepare(p, 2); }

static const ons_case clip_gradient_cases[] = {
    {.name = "both",
     .inputs = {ONS_F32(5, 7), ONS_F32_IN(-3, 9, 5, 7), ONS_F32_SCALAR(0), ONS_F32_SCALAR(6)},
     .flops = 35},
    {.name = "low", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32_SCALAR(0)}, .flops = 35},
    {.name = "high", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_LEFT_OUT, ONS_F32_SCALAR(0.5)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32(), ONS_F32_SCALAR(0)}, .flops = 1},
    {.name = "bounds_inside",
     .inputs = {ONS_F32(4),
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(4), .value_count = 4, .values = {0, 6, 7, -1}},
                ONS_F32_SCALAR(0),
                ONS_F32_SCALAR(6)},
     .flops = 4},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4), ONS_F32_SCALAR(0)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32_IN(-3, 9, 64, 64, 56, 56), ONS_F32_SCALAR(0), ONS_F32_SCALAR(6)},
     .flops = 12845056,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(clip_gradient, "ClipGradient", ONS_INTERNAL, ONS_ARITY(2, 4, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(clip_gradient_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(clip_gradient_reference), ONS_CPU_KERNEL(ons_unary_prepare, clip_gradient_run),
                    ONS_CUDA_KERNEL(clip_gradient_cuda_prepare, ons_cuda_clip_gradient), clip_gradient_cases);
