/* Gradient of Selu: from cotangent a and output b, which is the exponential but for what was taken away. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(selu_gradient, b > 0 ? a * ons_attribute_float(o, 1)
                                                : a * (b + ons_attribute_float(o, 0) * ons_attribute_float(o, 1)))

ONS_DEFINE_BINARY_GRADIENT(selu_gradient, "SeluGradient",
                           ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.67326319217681884765625),
                                          ONS_FLOAT_ATTRIBUTE("gamma", 1.05070102214813232421875)),
                           ONS_REFERENCE(selu_gradient_reference));
