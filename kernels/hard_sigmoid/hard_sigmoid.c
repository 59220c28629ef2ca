/* HardSigmoid: alpha·x + beta, kept between 0 and 1. */
#include <math.h>

#include "graph/passes/fuse.h"
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(hard_sigmoid, fmax(0, fmin(1, ons_attribute_float(o, 0) * x + ons_attribute_float(o, 1))))

ONS_GRADIENT_BY_OUTPUT(hard_sigmoid)

static ons_value_id replace(ons_match *match) {
    ons_type x = ons_match_type(match, "x"), result = ons_match_type(match, "result");
    if (!ons_dtype_is_float(x.dtype) || !ons_type_equal(&x, &result)) return ONS_NONE;
    return ons_build(ons_match_builder(match), &ons_op_hard_sigmoid, ONS_IN(ons_match_value(match, "x")),
                     ONS_WITH(ONS_AT_FLOAT(0, 1.0 / 6)));
}

static const ons_pattern hard_sigmoid_patterns[] = {
    {"Div(Clip(Add(x, 3), 0, 6), 6)", replace},
    {"Mul(Clip(Add(x, 3), 0, 6), 0.16666667)", replace},
    {.form = NULL},
};

ONS_DEFINE_UNARY(hard_sigmoid, "HardSigmoid", ONS_ONNX(1, ONS_NEWEST),
                 ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 0.2), ONS_FLOAT_ATTRIBUTE("beta", 0.5)),
                 ONS_INFER(ons_infer_float_unary), ONS_GRADIENT_RULE(hard_sigmoid_gradient, ONS_ALL_INPUTS),
                 ONS_SAVES(0, ONS_INPUT_BIT(0)), ONS_ELEMENTWISE_OPERATOR, ONS_FORMS(NULL, hard_sigmoid_patterns, NULL),
                 ONS_REFERENCE(hard_sigmoid_reference));
