#include "kernels/losses/cuda_losses.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/losses/model_loss.h"
#include "kernels/losses/pointwise_loss.h"

ons_status *ons_cuda_class_loss_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_prepare_like_cpu(p, ons_class_loss_prepare));
    const ons_class_loss *loss = p->state;
    p->scratch_bytes = (loss->view.outer * loss->view.inner * (int64_t)sizeof(double) + 63) / 64 * 64;
    return NULL;
}

ons_status *ons_cuda_cross_entropy_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    ons_cuda_class_loss *state;
    ONS_NEW_STATE(state, p);
    *state = (ons_cuda_class_loss){ons_class_loss_of(o), o->inputs[0].dtype};
    p->implementation = "cuda:rows";
    p->scratch_bytes = (state->loss.view.outer * state->loss.view.inner * (int64_t)sizeof(double) + 63) / 64 * 64;
    return NULL;
}

ons_status *ons_cuda_model_loss_prepare(ons_prepare *p) {
    ONS_TRY(ons_cuda_prepare_like_cpu(p, ons_model_loss_prepare));
    const ons_model_loss *loss = p->state;
    int64_t targets = loss->classes.view.outer * loss->classes.view.inner;
    p->scratch_bytes = ((2 * targets + 1) * (int64_t)sizeof(double) + 63) / 64 * 64;
    return NULL;
}

ons_status *ons_cuda_pointwise_loss_prepare(ons_prepare *p) {
    ONS_TRY(ons_cuda_prepare_like_cpu(p, ons_pointwise_loss_prepare));
    p->scratch_bytes = ONS_CUDA_LOSS_PARTS * (int64_t)sizeof(double);
    return NULL;
}
