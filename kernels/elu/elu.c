/* Elu: x, or alpha·(eˣ - 1) where x is negative. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(elu, x < 0 ? ons_attribute_float(o, 0) * expm1(x) : x)

ONS_GRADIENT_BY_INPUT(elu)

ONS_DEFINE_UNARY(elu, "Elu", ONS_ONNX(1, ONS_NEWEST), ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)),
                 ONS_INFER(ons_infer_float_unary), ONS_GRADIENT_RULE(elu_gradient, ONS_ALL_INPUTS),
                 ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM, ONS_REFERENCE(elu_reference));
