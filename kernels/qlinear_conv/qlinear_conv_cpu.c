/* QLinearConv on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, qlinear_conv, ONS_REFERENCE_KERNEL)
