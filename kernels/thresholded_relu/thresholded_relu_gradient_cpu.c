/* ThresholdedReluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(thresholded_relu_gradient, b > parameters[0] ? a : 0)

ONS_KERNELS(cpu, thresholded_relu_gradient, ONS_KERNEL(thresholded_relu_gradient_prepare, ons_broadcast_run))
