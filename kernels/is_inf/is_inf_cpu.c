/* IsInf on the CPU. */
#include "kernels/is_inf/is_inf.h"

#include <math.h>

#include "kernels/common/elementwise/unary.h"

ONS_UNARY_SPAN(is_inf_float32, float, float, uint8_t, (x == parameters[0]) | (x == parameters[1]))

static ons_status *is_inf_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ons_unary_state *state = p->state;
    state->parameters[0] = ons_attribute_int(p->operands, DETECT_NEGATIVE) != 0 ? -INFINITY : NAN;
    state->parameters[1] = ons_attribute_int(p->operands, DETECT_POSITIVE) != 0 ? INFINITY : NAN;
    return NULL;
}

static void is_inf_run(const ons_launch *launch) { ons_unary_run(launch, sizeof(float), 1, is_inf_float32); }

ONS_KERNELS(cpu, is_inf, ONS_KERNEL(is_inf_prepare, is_inf_run))
