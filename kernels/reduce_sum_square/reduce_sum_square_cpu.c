/* ReduceSumSquare on the CPU. */
#include "kernels/reduction/reduction.h"

ONS_DEFINE_REDUCER(reduce_sum_square, 8, 0, ONS_ADD_SQUARE, ONS_SUM_OF, ONS_SUM_OF, a)

ONS_KERNELS(cpu, reduce_sum_square, ONS_KERNEL(reduce_sum_square_prepare, ons_reduction_run))
