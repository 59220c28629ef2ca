/* RandomUniformLike on the CPU. */
#include "kernels/random/random.h"

ONS_KERNELS(cpu, random_uniform_like, ONS_KERNEL(ons_random_prepare, ons_random_uniform_run))
