/* ReduceL2 on the CPU. */
#include <math.h>

#include "kernels/reduction/reduction.h"

ONS_DEFINE_REDUCER(reduce_l2, 8, 0, ONS_ADD_SQUARE, ONS_SUM_OF, ONS_SUM_OF, sqrt(a))

/* dx = x dy / |x|; where all of x is 0 the gradient is 0, as in PyTorch. */

ONS_KERNELS(cpu, reduce_l2, ONS_KERNEL(reduce_l2_prepare, ons_reduction_run))
