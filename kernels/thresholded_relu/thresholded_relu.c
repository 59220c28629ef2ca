/* ThresholdedRelu: x where it is above alpha, 0 elsewhere. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(thresholded_relu, x > ons_attribute_float(o, 0) ? x : 0)

ONS_GRADIENT_BY_INPUT(thresholded_relu)

ONS_DEFINE_UNARY(thresholded_relu, "ThresholdedRelu", ONS_ONNX(10, ONS_NEWEST),
                 ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)), ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(thresholded_relu_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM, ONS_REFERENCE(thresholded_relu_reference));
