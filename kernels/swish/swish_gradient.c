/* Gradient of Swish: from cotangent a and input b. */
#include <math.h>

#include "kernels/common/elementwise/binary.h"

static double swish_slope_of(double x, double alpha) {
    double s = 1 / (1 + exp(-alpha * x));
    return s + alpha * x * s * (1 - s);
}

ONS_BINARY_FLOAT_REFERENCE(swish_gradient, a *swish_slope_of(b, ons_attribute_float(o, 0)))

ONS_DEFINE_BINARY_GRADIENT(swish_gradient, "SwishGradient", ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)),
                           ONS_REFERENCE(swish_gradient_reference));
