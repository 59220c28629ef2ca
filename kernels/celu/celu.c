/* Celu: x, or alpha·(e^(x/alpha) - 1) where x is negative. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

static ons_status *celu_infer(ons_operands *o) {
    if (!(ons_attribute_float(o, 0) > 0))
        return ons_node_error(o, "alpha is %g; a positive one is needed", ons_attribute_float(o, 0));
    return ons_infer_float_unary(o);
}

ONS_UNARY_FLOAT_REFERENCE(celu, x > 0 ? x : ons_attribute_float(o, 0) * expm1(x / ons_attribute_float(o, 0)))

ONS_GRADIENT_BY_OUTPUT(celu)

ONS_DEFINE_UNARY(celu, "Celu", ONS_ONNX(12, ONS_NEWEST), ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)),
                 ONS_INFER(celu_infer), ONS_GRADIENT_RULE(celu_gradient, ONS_ALL_INPUTS),
                 ONS_SAVES(0, ONS_INPUT_BIT(0)), ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM, ONS_REFERENCE(celu_reference));
