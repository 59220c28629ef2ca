/* Round on the CPU. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"

ONS_UNARY_FLOAT_KERNEL(round, __builtin_rintf(x))

ONS_KERNELS(cpu, round, ONS_KERNEL(ons_unary_prepare, round_run))
