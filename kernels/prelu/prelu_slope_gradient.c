/* Gradient of PRelu's slope before it is summed to the slope's shape: from cotangent a and data b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(prelu_slope_gradient, b < 0 ? a * b : 0)

ONS_DEFINE_BINARY_GRADIENT(prelu_slope_gradient, "PReluSlopeGradient", ONS_NO_ATTRIBUTES,
                           ONS_REFERENCE(prelu_slope_gradient_reference));
