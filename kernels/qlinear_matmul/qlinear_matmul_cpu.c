/* QLinearMatMul on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, qlinear_matmul, ONS_REFERENCE_KERNEL)
