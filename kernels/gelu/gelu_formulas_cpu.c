/* What the CPU runs of gelu_formulas.h. */
#include "kernels/gelu/gelu_formulas.h"

ons_status *ons_gelu_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ((ons_unary_state *)p->state)->parameters[0] = ons_gelu_by_tanh(p->operands) ? 1 : 0;
    return NULL;
}
