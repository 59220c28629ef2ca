/* ShrinkGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(shrink_gradient, ((b < -parameters[0]) | (b > parameters[0])) ? a : 0)

static ons_status *shrink_gradient_prepare_attributes(ons_prepare *p) {
    ONS_TRY(shrink_gradient_prepare(p));
    return ons_broadcast_take_attributes(p);
}

ONS_KERNELS(cpu, shrink_gradient, ONS_KERNEL(shrink_gradient_prepare_attributes, ons_broadcast_run))
