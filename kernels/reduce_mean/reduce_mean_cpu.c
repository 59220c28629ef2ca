/* ReduceMean on the CPU. */
#include "kernels/reduction/reduction.h"

ONS_DEFINE_REDUCER(reduce_mean, 8, 0, ONS_SUM_OF, ONS_SUM_OF, ONS_SUM_OF, a / count)

ONS_KERNELS(cpu, reduce_mean, ONS_KERNEL(reduce_mean_prepare, ons_reduction_run))
