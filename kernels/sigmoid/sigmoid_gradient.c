/* Gradient of Sigmoid: from cotangent a and output b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(sigmoid_gradient, a *b *(1 - b))

ONS_DEFINE_BINARY_GRADIENT(sigmoid_gradient, "SigmoidGradient", ONS_NO_ATTRIBUTES,
                           ONS_REFERENCE(sigmoid_gradient_reference));
