/* Log on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(log, ons_log(x))

ONS_KERNELS(cpu, log, ONS_KERNEL(ons_unary_prepare, log_run))
