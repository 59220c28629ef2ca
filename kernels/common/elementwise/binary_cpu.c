/* What the CPU runs of binary.h. */
#include "kernels/common/elementwise/binary.h"

ons_status *ons_binary_prepare(ons_prepare *p, const ons_span_choice *choices) {
    ons_broadcast *state;
    for (; choices->dtype != ONS_NO_DTYPE; ++choices)
        if (choices->dtype == p->operands->inputs[0].dtype) return ons_broadcast_prepare(p, choices->function, &state);
    return ons_refuse_dtype(p->operands, p->operands->inputs[0].dtype);
}
