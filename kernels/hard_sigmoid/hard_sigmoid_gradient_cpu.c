/* HardSigmoidGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(hard_sigmoid_gradient, ((b > 0) & (b < 1)) ? a *parameters[0] : 0)

static ons_status *hard_sigmoid_gradient_prepare_attributes(ons_prepare *p) {
    ONS_TRY(hard_sigmoid_gradient_prepare(p));
    return ons_broadcast_take_attributes(p);
}

ONS_KERNELS(cpu, hard_sigmoid_gradient, ONS_KERNEL(hard_sigmoid_gradient_prepare_attributes, ons_broadcast_run))
