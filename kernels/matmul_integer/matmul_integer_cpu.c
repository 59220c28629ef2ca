/* MatMulInteger on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, matmul_integer, ONS_REFERENCE_KERNEL)
