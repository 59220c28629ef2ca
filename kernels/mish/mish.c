/* Mish: x·tanh(ln(1 + eˣ)). */
#include <math.h>

#include "graph/passes/fuse.h"
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(mish, x *tanh(fmax(x, 0) + log1p(exp(-fabs(x)))))

ONS_GRADIENT_BY_INPUT(mish)

static ons_value_id replace(ons_match *match) {
    ons_type x = ons_match_type(match, "x"), result = ons_match_type(match, "result");
    if (!ons_type_equal(&x, &result)) return ONS_NONE;
    return ons_build(ons_match_builder(match), &ons_op_mish, ONS_IN(ons_match_value(match, "x")), ONS_DEFAULTS);
}

static const ons_pattern mish_patterns[] = {
    {"Mul(x, Tanh(Softplus(x)))", replace},
    {"Mul(x, Tanh(Log(Add(Exp(x), 1))))", replace},
    {.form = NULL},
};

ONS_DEFINE_UNARY(mish, "Mish", ONS_ONNX(18, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(mish_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ELEMENTWISE_OPERATOR, ONS_FORMS(NULL, mish_patterns, NULL), ONS_REFERENCE(mish_reference));
