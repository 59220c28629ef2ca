/* Gelu: x·Φ(x), Φ the normal distribution, exactly or by the usual formula with tanh. */
#include <string.h>

#include "graph/passes/fuse.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/gelu.h"
#include "kernels/common/rules.h"

static double gelu_of(double x, bool by_tanh) { return by_tanh ? ons_gelu_tanh(x) : 0.5 * x * erfc(-x * M_SQRT1_2); }

ONS_UNARY_REFERENCE(gelu_words, double, double, gelu_of(x, ons_gelu_by_tanh(o)))
static inline float by_normal(float x) {
    float density;
    return x * ons_normal(x, &density);
}

ONS_UNARY_SPAN(gelu_exact, float, float, float, by_normal(x))
ONS_UNARY_SPAN(gelu_tanh, float, float, float, ons_gelu_by_sigmoid(x))

static void gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    (void)step;
    gelu_words(o, inputs, outputs);
}

static void gelu_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    ons_unary_run(launch, sizeof(float), sizeof(float), state->parameters[0] != 0 ? gelu_tanh : gelu_exact);
}

static ons_status *gelu_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make_like(g, &ons_op_gelu_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)));
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- patterns */

static ons_value_id replace(ons_match *match, const char *approximate) {
    return ons_build(ons_match_builder(match), &ons_op_gelu, ONS_IN(ons_match_value(match, "x")),
                     ONS_WITH(ONS_AT_STRING(0, approximate)));
}

static ons_value_id replace_exact(ons_match *match) { return replace(match, "none"); }

static ons_value_id replace_tanh(ons_match *match) { return replace(match, "tanh"); }

/* The product of x, a half and 1 + INNER comes in any order. */
#define PRODUCTS(INNER, REPLACE)                                                                                       \
    {"Mul(Mul(x, Add(" INNER ", 1)), 0.5)", REPLACE}, {"Mul(Mul(x, 0.5), Add(" INNER ", 1))", REPLACE},                \
        {"Mul(x, Mul(Add(" INNER ", 1), 0.5))", REPLACE}, {"Mul(Div(x, 2), Add(" INNER ", 1))", REPLACE}, {            \
        "Div(Mul(x, Add(" INNER ", 1)), 2)", REPLACE                                                                   \
    }

static const ons_pattern gelu_patterns[] = {
    PRODUCTS("Erf(Div(x, 1.41421356))", replace_exact),
    PRODUCTS("Erf(Mul(x, 0.70710678))", replace_exact),
    {"Mul(Mul(x, 0.5), Erfc(Mul(Neg(x), 0.70710678)))", replace_exact}, /* TensorFlow's */
    PRODUCTS("Tanh(Mul(Add(x, Mul(Pow(x, 3), 0.044715)), 0.79788456))", replace_tanh),
    PRODUCTS("Tanh(Mul(Add(x, Mul(Mul(Mul(x, x), x), 0.044715)), 0.79788456))", replace_tanh),
    PRODUCTS("Tanh(Mul(Add(x, Mul(Mul(Mul(x, 0.044715), x), x)), 0.79788456))", replace_tanh),
    PRODUCTS("Tanh(Mul(Add(x, Mul(Mul(x, 0.044715), Mul(x, x))), 0.79788456))", replace_tanh),
    PRODUCTS("Tanh(Mul(Mul(x, 0.79788456), Add(Mul(Mul(x, 0.044715), x), 1)))", replace_tanh),
    PRODUCTS("Tanh(Mul(Mul(x, 0.79788456), Add(Mul(Mul(x, x), 0.044715), 1)))", replace_tanh),
    {.form = NULL},
};

static ons_status *gelu_cuda_prepare(ons_prepare *p) {
    ONS_TRY(ons_cuda_float_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] = ons_gelu_by_tanh(p->operands) ? 1 : 0;
    return NULL;
}

static const ons_case gelu_cases[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 8, NAN, INFINITY, 0, 50, -50, 5, -5, 1e-30),
    {.name = "tanh",
     .inputs = {ONS_F32_IN(-4, 4, 35, 37)},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 1295},
    {.name = "tanh_edges",
     .inputs =
         {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {NAN, INFINITY, 0, 50, -50, 1e-30}}},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 6,
     .no_gradient = true},
    {.name = "tanh_large",
     .inputs = {ONS_F32_IN(-3, 3, 64, 128, 1024)},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 8388608,
     .benchmark = true},
    {.name = "unknown",
     .inputs = {ONS_F32(3)},
     .settings = {ONS_SET_STRING("approximate", "sigmoid")},
     .error = "approximate"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gelu, "Gelu", ONS_ONNX(20, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_GELU_ATTRIBUTES,
                    ONS_INFER(ons_gelu_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(gelu_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_FORMS(NULL, gelu_patterns, NULL), ONS_REFERENCE(gelu_reference),
                    ONS_CPU_KERNEL(ons_gelu_prepare, gelu_run), ONS_CUDA_KERNEL(gelu_cuda_prepare, ons_cuda_gelu),
                    gelu_cases);
