/* ReduceMin on the CPU. */
#include <math.h>

#include "kernels/reduction/reduction.h"

ONS_DEFINE_REDUCER(reduce_min, 64, INFINITY, ONS_SIMD_SMALLER, ONS_SIMD_SMALLER, ONS_SMALLER_OF, a)

ONS_KERNELS(cpu, reduce_min, ONS_KERNEL(reduce_min_prepare, ons_reduction_run))
