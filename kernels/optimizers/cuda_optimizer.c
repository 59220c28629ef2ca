#include "kernels/optimizers/cuda_optimizer.h"

#include "kernels/common/cuda/cuda_prepare.h"

ons_status *ons_cuda_optimizer_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (!ons_has_input(o, i) || i == ons_update_half_input(o->op)) continue;
        if (i == ONS_GRADIENT_IN)
            ONS_TRY(ons_cuda_require_float(o, o->inputs[i].dtype));
        else
            ONS_TRY(ons_require_float32_of(o, &o->inputs[i]));
    }
    return ons_optimizer_prepare_any(p);
}
