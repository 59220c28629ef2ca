/* ThresholdedRelu on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_FLOAT_KERNEL(thresholded_relu, x > parameters[0] ? x : 0)

ONS_KERNELS(cpu, thresholded_relu, ONS_KERNEL(ons_unary_prepare, thresholded_relu_run))
