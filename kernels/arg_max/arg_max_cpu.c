/* ArgMax on the CPU. */
#include "kernels/argminmax/argminmax.h"

ONS_EXTREME_INDEX_KERNEL(arg_max, >)

ONS_KERNELS(cpu, arg_max, ONS_KERNEL(ons_extreme_index_prepare, arg_max_run))
