/* EluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/math/vector_math.h"

ONS_BINARY_FLOAT_KERNEL(elu_gradient, b > 0 ? a : a * parameters[0] * ons_exp(b < 0 ? b : 0))

static ons_status *elu_gradient_prepare_alpha(ons_prepare *p) {
    ONS_TRY(elu_gradient_prepare(p));
    ((ons_broadcast *)p->state)->parameters[0] = (float)ons_attribute_float(p->operands, 0);
    return NULL;
}

ONS_KERNELS(cpu, elu_gradient, ONS_KERNEL(elu_gradient_prepare_alpha, ons_broadcast_run))
