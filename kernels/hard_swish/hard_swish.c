/* HardSwish: x times x/6 + 1/2 kept between 0 and 1. */
#include <math.h>

#include "graph/passes/fuse.h"
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(hard_swish, x *fmax(0, fmin(1, x / 6 + 0.5)))

ONS_GRADIENT_BY_INPUT(hard_swish)

static ons_value_id replace(ons_match *match) {
    ons_type x = ons_match_type(match, "x"), result = ons_match_type(match, "result");
    if (!ons_dtype_is_float(x.dtype) || !ons_type_equal(&x, &result)) return ONS_NONE;
    return ons_build(ons_match_builder(match), &ons_op_hard_swish, ONS_IN(ons_match_value(match, "x")), ONS_DEFAULTS);
}

static ons_value_id replace_hard_sigmoid(ons_match *match) {
    const ons_operands *gate = ons_match_node(match, "gate");
    if (gate == NULL || fabs(ons_attribute_float(gate, 0) - 1.0 / 6) > 1e-6 ||
        fabs(ons_attribute_float(gate, 1) - 0.5) > 1e-6)
        return ONS_NONE;
    return replace(match);
}

static const ons_pattern hard_swish_patterns[] = {
    {"Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)", replace},
    {"Mul(x, Div(Clip(Add(x, 3), 0, 6), 6))", replace},
    {"Mul(Div(x, 6), Clip(Add(x, 3), 0, 6))", replace},
    {"Mul(Mul(x, Clip(Add(x, 3), 0, 6)), 0.16666667)", replace},
    {"Mul(x, Mul(Clip(Add(x, 3), 0, 6), 0.16666667))", replace},
    {"Mul(Mul(x, 0.16666667), Clip(Add(x, 3), 0, 6))", replace},
    {"Mul(x, gate=HardSigmoid(x))", replace_hard_sigmoid},
    {.form = NULL},
};

ONS_DEFINE_UNARY(hard_swish, "HardSwish", ONS_ONNX(14, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(hard_swish_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ELEMENTWISE_OPERATOR, ONS_FORMS(NULL, hard_swish_patterns, NULL),
                 ONS_REFERENCE(hard_swish_reference));
