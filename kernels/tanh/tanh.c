/* Tanh: the hyperbolic tangent. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(tanh, tanh(x))

ONS_GRADIENT_BY_OUTPUT(tanh)

ONS_DEFINE_UNARY(tanh, "Tanh", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(tanh_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                 ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM, ONS_REFERENCE(tanh_reference));
