/* ReduceMax on the CPU. */
#include <math.h>

#include "kernels/reduction/reduction.h"

ONS_DEFINE_REDUCER(reduce_max, 64, -INFINITY, ONS_SIMD_LARGER, ONS_SIMD_LARGER, ONS_LARGER_OF, a)

ONS_KERNELS(cpu, reduce_max, ONS_KERNEL(reduce_max_prepare, ons_reduction_run))
