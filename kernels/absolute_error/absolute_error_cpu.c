/* AbsoluteError on the CPU. */
#include "kernels/losses/pointwise_loss.h"

ONS_POINTWISE_LOSS_KERNEL(absolute_error, ons_absolute(x - t))

ONS_KERNELS(cpu, absolute_error, ONS_KERNEL(ons_pointwise_loss_prepare, absolute_error_run))
