/* Gradient of LeakyRelu: from cotangent a and input b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(leaky_relu_gradient, b > 0 ? a : ons_attribute_float(o, 0) * a)

ONS_DEFINE_BINARY_GRADIENT(leaky_relu_gradient, "LeakyReluGradient", ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 0.01)),
                           ONS_REFERENCE(leaky_relu_gradient_reference));
