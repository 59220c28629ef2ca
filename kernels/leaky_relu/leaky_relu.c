/* LeakyRelu: x, or alpha·x where x is negative. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(leaky_relu, x < 0 ? ons_attribute_float(o, 0) * x : x)

ONS_GRADIENT_BY_INPUT(leaky_relu)

ONS_DEFINE_UNARY(leaky_relu, "LeakyRelu", ONS_ONNX(1, ONS_NEWEST), ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 0.01)),
                 ONS_INFER(ons_infer_float_unary), ONS_GRADIENT_RULE(leaky_relu_gradient, ONS_ALL_INPUTS),
                 ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM,
                 ONS_REFERENCE(leaky_relu_reference));
