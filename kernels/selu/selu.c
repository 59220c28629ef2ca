/* Selu: gamma·x, or gamma·alpha·(eˣ - 1) where x is negative. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(selu, ons_attribute_float(o, 1) * (x > 0 ? x : ons_attribute_float(o, 0) * expm1(x)))

ONS_GRADIENT_BY_OUTPUT(selu)

ONS_DEFINE_UNARY(selu, "Selu", ONS_ONNX(1, ONS_NEWEST),
                 ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.67326319217681884765625),
                                ONS_FLOAT_ATTRIBUTE("gamma", 1.05070102214813232421875)),
                 ONS_INFER(ons_infer_float_unary), ONS_GRADIENT_RULE(selu_gradient, ONS_ALL_INPUTS),
                 ONS_SAVES(0, ONS_INPUT_BIT(0)), ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM, ONS_REFERENCE(selu_reference));
