/* Gradient of Elu: from cotangent a and input b. */
#include <math.h>

#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(elu_gradient, b > 0 ? a : a * ons_attribute_float(o, 0) * exp(b))

ONS_DEFINE_BINARY_GRADIENT(elu_gradient, "EluGradient", ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)),
                           ONS_REFERENCE(elu_gradient_reference));
