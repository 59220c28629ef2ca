/* What the CPU runs of binary.h. */
#include "kernels/common/elementwise/binary.h"

ons_status *ons_binary_prepare(ons_prepare *p, const ons_span_choice *choices) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    ons_broadcast *state;
    while (choices->dtype != ONS_NO_DTYPE && choices->dtype != dtype) ++choices;
    if (choices->dtype == ONS_NO_DTYPE) return ons_refuse_dtype(p->operands, dtype);
    ONS_TRY(ons_broadcast_prepare(p, choices->function, &state));
    ons_take_float_attributes(p->operands, state->parameters, ONS_BROADCAST_PARAMETERS);
    return NULL;
}
