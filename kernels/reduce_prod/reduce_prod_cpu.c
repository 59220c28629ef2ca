/* ReduceProd on the CPU. */
#include "kernels/reduction/reduction.h"

ONS_DEFINE_REDUCER(reduce_prod, 1, 1, ONS_PRODUCT_OF, ONS_PRODUCT_OF, ONS_PRODUCT_OF, a)

ONS_KERNELS(cpu, reduce_prod, ONS_KERNEL(reduce_prod_prepare, ons_reduction_run))
