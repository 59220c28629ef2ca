/* LeakyReluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(leaky_relu_gradient, b > 0 ? a : parameters[0] * a)

static ons_status *leaky_relu_gradient_prepare_alpha(ons_prepare *p) {
    ONS_TRY(leaky_relu_gradient_prepare(p));
    ((ons_broadcast *)p->state)->parameters[0] = (float)ons_attribute_float(p->operands, 0);
    return NULL;
}

ONS_KERNELS(cpu, leaky_relu_gradient, ONS_KERNEL(leaky_relu_gradient_prepare_alpha, ons_broadcast_run))
