/* AdamW on the CPU. */
#include "kernels/optimizers/optimizer.h"

ONS_ADAM_KERNEL(adamw, true)

ONS_KERNELS(cpu, adamw, ONS_KERNEL(ons_optimizer_prepare, adamw_run))
