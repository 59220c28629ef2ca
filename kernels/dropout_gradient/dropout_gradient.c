/* Gradient of DropoutTraining: from cotangent and mask, dy / (1 - ratio) where the element was kept, else 0. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/dropout.h"
#include "kernels/common/unary.h"

enum { RATIO };

static ons_status *dropout_gradient_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(ons_need_bool(o, 1));
    ONS_TRY(ons_dropout_check(o, ons_attribute_float(o, RATIO)));
    if (!ons_shape_equal(&o->inputs[0].shape, &o->inputs[1].shape))
        return ons_node_error(o, "cotangent and mask differ in shape");
    o->outputs[0] = o->inputs[0];
    return NULL;
}

static void dropout_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    (void)step;
    double scale = ons_dropout_scale(ons_attribute_float(o, RATIO));
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i)
        ((double *)outputs[0])[i] = ((const int64_t *)inputs[1])[i] != 0 ? ((const double *)inputs[0])[i] * scale : 0;
}

static ons_status *dropout_gradient_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ((ons_unary_state *)p->state)->parameters[0] = (float)ons_dropout_scale(ons_attribute_float(p->operands, RATIO));
    return NULL;
}

static void dropout_gradient_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    const float *dy = launch->inputs[0];
    const uint8_t *mask = launch->inputs[1];
    float *dx = launch->outputs[0];
    float scale = state->parameters[0];
    int64_t n = state->elements;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float kept = dy[i] * scale;
        dx[i] = mask[i] != 0 ? kept : 0.0f;
    }
}

static ons_status *dropout_gradient_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_float_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] =
        (float)ons_dropout_scale(ons_attribute_float(p->operands, RATIO));
    return NULL;
}

static const ons_case dropout_gradient_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_BOOL, 0, 1, 5, 7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "tenth",
     .inputs = {ONS_F32(37), ONS_RANDOM(ONS_BOOL, 0, 1, 37)},
     .settings = {ONS_SET_FLOAT("ratio", 0.1)},
     .tolerance = 1e-6,
     .flops = 37},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_RANDOM(ONS_BOOL, 0, 1)}, .tolerance = 1e-6, .flops = 1},
    {.name = "threads",
     .inputs = {ONS_F32(3, 16, 33, 35), ONS_RANDOM(ONS_BOOL, 0, 1, 3, 16, 33, 35)},
     .tolerance = 1e-6,
     .flops = 55440},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_RANDOM(ONS_BOOL, 0, 1, 0, 4)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 128, 1024), ONS_RANDOM(ONS_BOOL, 0, 1, 64, 128, 1024)},
     .tolerance = 1e-6,
     .flops = 8388608,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(dropout_gradient, "DropoutGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("ratio", 0.5)), ONS_INFER(dropout_gradient_infer),
                    ONS_COST(ons_cost_elementwise), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(dropout_gradient_reference),
                    ONS_CPU_KERNEL(dropout_gradient_prepare, dropout_gradient_run),
                    ONS_CUDA_KERNEL(dropout_gradient_prepare_cuda, ons_cuda_dropout_gradient), dropout_gradient_cases);
