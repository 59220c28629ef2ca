/* ReduceSum on the CPU. */
#include "kernels/reduction/reduction.h"

ONS_DEFINE_REDUCER(reduce_sum, 8, 0, ONS_SUM_OF, ONS_SUM_OF, ONS_SUM_OF, a)

ONS_KERNELS(cpu, reduce_sum, ONS_KERNEL(reduce_sum_prepare, ons_reduction_run))
