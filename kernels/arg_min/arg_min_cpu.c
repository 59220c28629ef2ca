/* ArgMin on the CPU. */
#include "kernels/argminmax/argminmax.h"

ONS_EXTREME_INDEX_KERNEL(arg_min, <)

ONS_KERNELS(cpu, arg_min, ONS_KERNEL(ons_extreme_index_prepare, arg_min_run))
