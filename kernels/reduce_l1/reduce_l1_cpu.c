/* ReduceL1 on the CPU. */
#include "kernels/reduction/reduction.h"

ONS_DEFINE_REDUCER(reduce_l1, 8, 0, ons_simd_add_magnitude, ONS_SUM_OF, ONS_SUM_OF, a)

ONS_KERNELS(cpu, reduce_l1, ONS_KERNEL(reduce_l1_prepare, ons_reduction_run))
