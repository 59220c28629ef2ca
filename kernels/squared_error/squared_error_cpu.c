/* SquaredError on the CPU. */
#include "kernels/losses/pointwise_loss.h"

ONS_POINTWISE_LOSS_KERNEL(squared_error, (x - t) * (x - t))

ONS_KERNELS(cpu, squared_error, ONS_KERNEL(ons_pointwise_loss_prepare, squared_error_run))
