/* FusedElementwise on the CPU. */
#include "kernels/backend.h"

ONS_NO_KERNEL(cpu, fused_elementwise, "it is made for devices whose kernels are compiled at run time")
