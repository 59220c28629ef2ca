/* Gradient of ThresholdedRelu: from cotangent a and input b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(thresholded_relu_gradient, b > ons_attribute_float(o, 0) ? a : 0)

ONS_DEFINE_BINARY_GRADIENT(thresholded_relu_gradient, "ThresholdedReluGradient",
                           ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)),
                           ONS_REFERENCE(thresholded_relu_gradient_reference));
