/* DynamicQuantizeLinear on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, dynamic_quantize_linear, ONS_REFERENCE_KERNEL)
