/* Det on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, det, ONS_REFERENCE_KERNEL)
