/* Gradient of HardSwish: from cotangent a and input b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(hard_swish_gradient, a *(b <= -3 ? 0 : b < 3 ? b / 3 + 0.5 : 1))

ONS_DEFINE_BINARY_GRADIENT(hard_swish_gradient, "HardSwishGradient", ONS_NO_ATTRIBUTES,
                           ONS_REFERENCE(hard_swish_gradient_reference));
