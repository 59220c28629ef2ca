/* DetGradient on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, det_gradient, ONS_REFERENCE_KERNEL)
