/* BinaryCrossEntropy on the CPU. */
#include "kernels/losses/pointwise_loss.h"

ONS_POINTWISE_LOSS_KERNEL(binary_cross_entropy, ons_softplus(x) - x * t)

ONS_KERNELS(cpu, binary_cross_entropy, ONS_KERNEL(ons_pointwise_loss_prepare, binary_cross_entropy_run))
