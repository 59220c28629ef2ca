/* Gradient of Mish: from cotangent a and input b. */
#include <math.h>

#include "kernels/common/elementwise/binary.h"

static double mish_slope_of(double x) {
    double t = tanh(fmax(x, 0) + log1p(exp(-fabs(x))));
    return t + x * (1 - t * t) / (1 + exp(-x));
}

ONS_BINARY_FLOAT_REFERENCE(mish_gradient, a *mish_slope_of(b))

ONS_DEFINE_BINARY_GRADIENT(mish_gradient, "MishGradient", ONS_NO_ATTRIBUTES, ONS_REFERENCE(mish_gradient_reference));
