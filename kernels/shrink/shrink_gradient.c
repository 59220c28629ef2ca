/* Gradient of Shrink: from cotangent a and input b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(shrink_gradient, b<-ons_attribute_float(o, 0) || b> ons_attribute_float(o, 0) ? a : 0)

ONS_DEFINE_BINARY_GRADIENT(shrink_gradient, "ShrinkGradient",
                           ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("lambd", 0.5), ONS_FLOAT_ATTRIBUTE("bias", 0.0)),
                           ONS_REFERENCE(shrink_gradient_reference));
