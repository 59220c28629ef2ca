/* ThresholdedReluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(thresholded_relu_gradient, b > parameters[0] ? a : 0)

static ons_status *thresholded_relu_gradient_prepare_attributes(ons_prepare *p) {
    ONS_TRY(thresholded_relu_gradient_prepare(p));
    return ons_broadcast_take_attributes(p);
}

ONS_KERNELS(cpu, thresholded_relu_gradient, ONS_KERNEL(thresholded_relu_gradient_prepare_attributes, ons_broadcast_run))
