/* Gradient of Celu: from cotangent a and output b, which holds the exponential. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(celu_gradient, b > 0 ? a : a * (b / ons_attribute_float(o, 0) + 1))

ONS_DEFINE_BINARY_GRADIENT(celu_gradient, "CeluGradient", ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)),
                           ONS_REFERENCE(celu_gradient_reference));
