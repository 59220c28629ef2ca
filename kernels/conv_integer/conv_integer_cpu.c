/* ConvInteger on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, conv_integer, ONS_REFERENCE_KERNEL)
