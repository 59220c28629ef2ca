/* RandomNormal on the CPU. */
#include "kernels/random/random.h"

ONS_KERNELS(cpu, random_normal, ONS_KERNEL(ons_random_prepare, ons_random_normal_run))
