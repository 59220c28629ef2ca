/* Gradient of Gelu: from cotangent and input. Exactly: dy·(Φ(x) + x·φ(x)); with tanh: dy·(s + x·s·(1 - s)·2u′), s the
 * sigmoid of 2u. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/gelu.h"

static double slope_of(double x, bool by_tanh) {
    return by_tanh ? ons_gelu_tanh_slope(x) : 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) * 0.5 * ONS_GELU_SCALE;
}

static void gelu_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    (void)step;
    const double *dy = inputs[0], *x = inputs[1];
    double *dx = outputs[0];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i)
        dx[i] = dy[i] * slope_of(x[i], ons_gelu_by_tanh(o));
}

static inline float exact_slope(float x) {
    float density;
    float below = ons_normal(x, &density);
    return below + x * density;
}

static void gelu_gradient_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1];
    float *dx = launch->outputs[0];
    int64_t n = state->elements;
    if (state->parameters[0] != 0) {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * ons_gelu_slope_by_sigmoid(x[i]);
    } else {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * exact_slope(x[i]);
    }
}

static ons_status *gelu_gradient_cuda_prepare(ons_prepare *p) {
    ONS_TRY(ons_cuda_float_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] = ons_gelu_by_tanh(p->operands) ? 1 : 0;
    return NULL;
}

static const ons_case gelu_gradient_cases[] = {
    ONS_PAIR_CASES(-4, 4, 2e-6),
    {.name = "far",
     .inputs = {ONS_F32(6),
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {0, 50, -50, 6, -6, 1e-30}}},
     .tolerance = 2e-6,
     .flops = 6},
    {.name = "tanh",
     .inputs = {ONS_F32(35, 37), ONS_F32_IN(-4, 4, 35, 37)},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 1295},
    {.name = "tanh_far",
     .inputs =
         {ONS_F32(6),
          {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {0, 1e20, -1e20, 6, -6, 1e-30}}},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 6},
    {.name = "tanh_large",
     .inputs = {ONS_F32(64, 128, 1024), ONS_F32_IN(-3, 3, 64, 128, 1024)},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 8388608,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gelu_gradient, "GeluGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_GELU_ATTRIBUTES,
                    ONS_INFER(ons_gelu_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(gelu_gradient_reference), ONS_CPU_KERNEL(ons_gelu_prepare, gelu_gradient_run),
                    ONS_CUDA_KERNEL(gelu_gradient_cuda_prepare, ons_cuda_gelu_gradient), gelu_gradient_cases);
