/* ArgMin on the CPU. */
#include "kernels/argminmax/argminmax_cpu.h"

ONS_ARGMINMAX_KERNEL(arg_min, <)

ONS_KERNELS(cpu, arg_min, ONS_KERNEL(ons_argminmax_prepare, arg_min_run))
