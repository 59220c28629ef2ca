/* Swish: x times the sigmoid of alpha·x; with alpha 1 the SiLU. */
#include <math.h>

#include "graph/passes/fuse.h"
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(swish, x / (1 + exp(-ons_attribute_float(o, 0) * x)))

ONS_GRADIENT_BY_INPUT(swish)

static ons_value_id build(ons_match *match, double alpha) {
    ons_type x = ons_match_type(match, "x"), result = ons_match_type(match, "result");
    if (!ons_type_equal(&x, &result)) return ONS_NONE;
    return ons_build(ons_match_builder(match), &ons_op_swish, ONS_IN(ons_match_value(match, "x")),
                     ONS_WITH(ONS_AT_FLOAT(0, alpha)));
}

static ons_value_id replace(ons_match *match) { return build(match, 1); }

static ons_value_id replace_scaled(ons_match *match) { return build(match, ons_match_scalar(match, "alpha")); }

static const ons_pattern swish_patterns[] = {
    {"Mul(x, Sigmoid(x))", replace},
    {"Mul(x, Sigmoid(Mul(x, ?alpha)))", replace_scaled},
    {"Div(x, Add(Exp(Neg(x)), 1))", replace},
    {.form = NULL},
};

ONS_DEFINE_UNARY(swish, "Swish", ONS_ONNX(24, ONS_NEWEST), ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)),
                 ONS_INFER(ons_infer_float_unary), ONS_GRADIENT_RULE(swish_gradient, ONS_ALL_INPUTS),
                 ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_CHEAP_AGAIN, 0),
                 ONS_FORMS(NULL, swish_patterns, NULL), ONS_REFERENCE(swish_reference));
