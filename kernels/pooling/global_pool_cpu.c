/* What the CPU runs of global_pool.h. */
#include "kernels/pooling/global_pool.h"

static ons_status *prepare(ons_prepare *p, const ons_type *type) {
    ONS_TRY(ons_require_float32_of(p->operands, type));
    ons_channels *state;
    ONS_NEW_STATE(state, p);
    *state = ons_channels_of(type);
    return NULL;
}

ons_status *ons_global_pool_prepare(ons_prepare *p) { return prepare(p, &p->operands->inputs[0]); }
ons_status *ons_global_pool_prepare_second(ons_prepare *p) { return prepare(p, &p->operands->inputs[1]); }
ons_status *ons_global_pool_prepare_result(ons_prepare *p) { return prepare(p, &p->operands->outputs[0]); }
