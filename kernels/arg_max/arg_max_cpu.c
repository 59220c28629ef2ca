/* ArgMax on the CPU. */
#include "kernels/argminmax/argminmax_cpu.h"

ONS_ARGMINMAX_KERNEL(arg_max, >)

ONS_KERNELS(cpu, arg_max, ONS_KERNEL(ons_argminmax_prepare, arg_max_run))
