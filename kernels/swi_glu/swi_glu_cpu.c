/* SwiGLU on the CPU. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/math/vector_math.h"

ONS_BINARY_FLOAT_KERNEL(swi_glu, a *ons_sigmoid(parameters[0] * a) * b)

ONS_KERNELS(cpu, swi_glu, ONS_KERNEL(swi_glu_prepare, ons_broadcast_run))
