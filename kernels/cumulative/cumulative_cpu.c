/* What the CPU runs of cumulative.h. */
#include "kernels/cumulative/cumulative.h"

ons_status *ons_cumulative_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_cumulative *s;
    ONS_NEW_STATE(s, p);
    return ons_cumulative_of(p->operands, s);
}
