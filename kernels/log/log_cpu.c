/* Log on the CPU. */
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(log, ons_log(x))

ONS_KERNELS(cpu, log, ONS_KERNEL(ons_unary_prepare, log_run))
