/* ReduceLogSum on the CPU. */
#include <math.h>

#include "kernels/reduction/reduction.h"

ONS_DEFINE_REDUCER(reduce_log_sum, 8, 0, ONS_SUM_OF, ONS_SUM_OF, ONS_SUM_OF, log(a))

ONS_KERNELS(cpu, reduce_log_sum, ONS_KERNEL(reduce_log_sum_prepare, ons_reduction_run))
