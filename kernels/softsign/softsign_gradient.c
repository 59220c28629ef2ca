/* Gradient of Softsign: from cotangent a and input b. */
#include <math.h>

#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(softsign_gradient, a / ((1 + fabs(b)) * (1 + fabs(b))))

ONS_DEFINE_BINARY_GRADIENT(softsign_gradient, "SoftsignGradient", ONS_NO_ATTRIBUTES,
                           ONS_REFERENCE(softsign_gradient_reference));
