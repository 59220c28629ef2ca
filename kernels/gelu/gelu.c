/* Gelu: x·Φ(x), Φ the normal distribution, exactly or by the usual formula with tanh. */
#include <math.h>

#include "graph/passes/fuse.h"
#include "kernels/common/operator/rules.h"
#include "kernels/gelu/gelu_formulas.h"

extern const ons_operator ons_op_gelu;
extern const ons_operator ons_op_gelu_gradient;

ONS_UNARY_REFERENCE(gelu, double, double, ons_gelu(x, ons_gelu_by_tanh(o)))

static ons_status *gelu_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make_like(g, &ons_op_gelu_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)));
    return NULL;
}

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

ONS_DEFINE_OPERATOR(gelu, "Gelu", ONS_ONNX(20, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_GELU_ATTRIBUTES,
                    ONS_INFER(ons_gelu_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(gelu_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_CHEAP_AGAIN, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_FORMS(NULL, gelu_patterns, NULL),
                    ONS_REFERENCE(gelu_reference));
