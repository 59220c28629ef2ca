/* Adam on the CPU. */
#include "kernels/optimizers/optimizer.h"

ONS_ADAM_KERNEL(adam, false)

ONS_KERNELS(cpu, adam, ONS_KERNEL(ons_optimizer_prepare, adam_run))
