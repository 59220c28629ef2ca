/* SwiGLU on the CPU. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/math/vector_math.h"

ONS_BINARY_FLOAT_KERNEL(swi_glu, a *ons_sigmoid(parameters[0] * a) * b)

static ons_status *swi_glu_prepare_attributes(ons_prepare *p) {
    ONS_TRY(swi_glu_prepare(p));
    return ons_broadcast_take_attributes(p);
}

ONS_KERNELS(cpu, swi_glu, ONS_KERNEL(swi_glu_prepare_attributes, ons_broadcast_run))
