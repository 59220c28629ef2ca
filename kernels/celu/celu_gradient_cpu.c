/* CeluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(celu_gradient, b > 0 ? a : a * (b / parameters[0] + 1))

static ons_status *celu_gradient_prepare_attributes(ons_prepare *p) {
    ONS_TRY(celu_gradient_prepare(p));
    return ons_broadcast_take_attributes(p);
}

ONS_KERNELS(cpu, celu_gradient, ONS_KERNEL(celu_gradient_prepare_attributes, ons_broadcast_run))
