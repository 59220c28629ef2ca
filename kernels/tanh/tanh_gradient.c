/* Gradient of Tanh: from cotangent a and output b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(tanh_gradient, a *(1 - b * b))

ONS_DEFINE_BINARY_GRADIENT(tanh_gradient, "TanhGradient", ONS_NO_ATTRIBUTES, ONS_REFERENCE(tanh_gradient_reference));
