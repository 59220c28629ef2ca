/* SquaredErrorGradient on the CPU. */
#include "kernels/losses/pointwise_loss.h"

ONS_POINTWISE_LOSS_GRADIENT_KERNEL(squared_error_gradient, (2 * (x - t)))

ONS_KERNELS(cpu, squared_error_gradient, ONS_KERNEL(ons_pointwise_loss_prepare, squared_error_gradient_run))
