/* Elu on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

static ons_status *elu_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ((ons_unary_state *)p->state)->parameters[0] = (float)ons_attribute_float(p->operands, 0);
    return NULL;
}

ONS_UNARY_FLOAT_KERNEL(elu, x < 0 ? parameters[0] * ons_exp_minus_one(x < 0 ? x : 0) : x)

ONS_KERNELS(cpu, elu, ONS_KERNEL(elu_prepare, elu_run))
