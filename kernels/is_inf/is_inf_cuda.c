/* IsInf on CUDA: what the host works out. */
#include "kernels/is_inf/is_inf.h"

#include <math.h>

#include "kernels/common/elementwise/cuda_elementwise.h"

static ons_status *is_inf_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_float_prepare(p));
    ons_cuda_elementwise *state = p->state;
    state->parameters[0] = ons_attribute_int(p->operands, DETECT_NEGATIVE) != 0 ? -INFINITY : NAN;
    state->parameters[1] = ons_attribute_int(p->operands, DETECT_POSITIVE) != 0 ? INFINITY : NAN;
    return NULL;
}

ONS_CUDA_KERNEL(is_inf, is_inf_prepare_cuda)
