/* RandomUniform on the CPU. */
#include "kernels/random/random.h"

ONS_KERNELS(cpu, random_uniform, ONS_KERNEL(ons_random_prepare, ons_random_uniform_run))
