/* Gradient of HardSigmoid: from cotangent a and output b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(hard_sigmoid_gradient, b > 0 && b < 1 ? a * ons_attribute_float(o, 0) : 0)

ONS_DEFINE_BINARY_GRADIENT(hard_sigmoid_gradient, "HardSigmoidGradient",
                           ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 0.2), ONS_FLOAT_ATTRIBUTE("beta", 0.5)),
                           ONS_REFERENCE(hard_sigmoid_gradient_reference));
