/* LeakyRelu on the CPU. */
#include "kernels/common/elementwise/unary.h"

static ons_status *leaky_relu_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ((ons_unary_state *)p->state)->parameters[0] = (float)ons_attribute_float(p->operands, 0);
    return NULL;
}

ONS_UNARY_FLOAT_KERNEL(leaky_relu, x < 0 ? parameters[0] * x : x)

ONS_KERNELS(cpu, leaky_relu, ONS_KERNEL(leaky_relu_prepare, leaky_relu_run))
