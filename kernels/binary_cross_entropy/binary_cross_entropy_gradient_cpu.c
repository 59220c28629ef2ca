/* BinaryCrossEntropyGradient on the CPU. */
#include "kernels/losses/pointwise_loss.h"

ONS_POINTWISE_LOSS_GRADIENT_KERNEL(binary_cross_entropy_gradient, (ons_sigmoid(x) - t))

ONS_KERNELS(cpu, binary_cross_entropy_gradient,
            ONS_KERNEL(ons_pointwise_loss_prepare, binary_cross_entropy_gradient_run))
