/* What the CPU runs of pointwise_loss.h. */
#include "kernels/losses/pointwise_loss.h"

ons_status *ons_pointwise_loss_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_pointwise_loss), &memory));
    ons_pointwise_loss *loss = memory;
    loss->elements = ons_elements(&o->inputs[0]);
    loss->parts = ons_parts(loss->elements, 1);
    loss->parameter = (float)ons_pointwise_loss_parameter(o);
    p->scratch_bytes = ONS_PARTS_MAX * (int64_t)sizeof(double);
    return NULL;
}
