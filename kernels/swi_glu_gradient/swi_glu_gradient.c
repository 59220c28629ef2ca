/* Gradient of SwiGLU: from the cotangent, gate a and value b, the gradients of both. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

enum { ALPHA };

static ons_status *swi_glu_gradient_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    for (uint32_t i = 1; i < o->input_count; ++i)
        if (!ons_type_equal(&o->inputs[0], &o->inputs[i])) return ons_node_error(o, "the operands differ in type");
    return ons_infer_like_first(o);
}

static void swi_glu_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    (void)step;
    const double *dy = inputs[0], *a = inputs[1], *b = inputs[2];
    double *da = outputs[0], *db = outputs[1], alpha = ons_attribute_float(o, ALPHA);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        double s = 1 / (1 + exp(-alpha * a[i]));
        if (da != NULL) da[i] = dy[i] * b[i] * (s + alpha * a[i] * s * (1 - s));
        if (db != NULL) db[i] = dy[i] * a[i] * s;
    }
}

/* Elements are read before they are written: an output may be an input's memory. */
static void swi_glu_gradient_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    const float *dy = launch->inputs[0], *a = launch->inputs[1], *b = launch->inputs[2];
    float *da = launch->outputs[0], *db = launch->outputs[1], alpha = state->parameters[0];
    int64_t n = state->elements;
    if (db == NULL) {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) {
            float s = ons_sigmoid(alpha * a[i]);
            da[i] = dy[i] * b[i] * (s + s * (1 - s) * (alpha * a[i]));
        }
        return;
    }
    if (da == NULL) {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) db[i] = dy[i] * (a[i] * ons_sigmoid(alpha * a[i]));
        return;
    }
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float gate = a[i], value = b[i], slope = dy[i], s = ons_sigmoid(alpha * gate);
        da[i] = slope * value * (s + s * (1 - s) * (alpha * gate));
        db[i] = slope * (gate * s);
    }
}

static const ons_case swi_glu_gradient_cases[] = {
    {.name = "both",
     .inputs = {ONS_F32(5, 7), ONS_F32_IN(-6, 6, 5, 7), ONS_F32(5, 7)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 35},
    {.name = "gate",
     .inputs = {ONS_F32(5, 7), ONS_F32_IN(-6, 6, 5, 7), ONS_F32(5, 7)},
     .settings = {ONS_SET_FLOAT("alpha", 1.702)},
     .tolerance = 2e-6,
     .flops = 35},
    {.name = "threads",
     .inputs = {ONS_F32(3, 16, 33, 35), ONS_F32(3, 16, 33, 35), ONS_F32(3, 16, 33, 35)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 55440},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4), ONS_F32(0, 4)}, .outputs = 2, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(16, 128, 2048), ONS_F32(16, 128, 2048), ONS_F32(16, 128, 2048)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 4194304,
     .benchmark = true},
    {.name = "misfit", .inputs = {ONS_F32(2, 3), ONS_F32(2, 3), ONS_F32(3)}, .error = "differ"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(swi_glu_gradient, "SwiGLUGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 2),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)), ONS_INFER(swi_glu_gradient_infer),
                    ONS_COST(ons_cost_elementwise), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 0, 2},
                                {ONS_ALIAS_MAY, 1, 1}, {ONS_ALIAS_MAY, 1, 2}, {ONS_ALIAS_MAY, 1, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(swi_glu_gradient_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare_attributes, swi_glu_gradient_run),
                    ONS_CUDA_KERNEL(ons_cuda_flat_prepare, ons_cuda_swi_glu_gradient), swi_glu_gradient_cases);
