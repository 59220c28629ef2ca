/* Compress on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, compress, ONS_REFERENCE_KERNEL)
