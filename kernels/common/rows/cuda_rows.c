#include "kernels/common/rows/cuda_rows.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/common/operator/checks.h"
#include "kernels/losses/model_loss.h"
#include "kernels/losses/pointwise_loss.h"

ons_status *ons_cuda_softmax_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    ons_cuda_rows *rows;
    ONS_NEW(rows, p->arena, 1);
    rows->view = ons_softmax_view(o);
    rows->dtype = o->inputs[0].dtype;
    p->state = rows;
    p->implementation = "cuda:rows";
    return NULL;
}

/* Scale and bias may be float32 beside a half type. */
ons_status *ons_cuda_norm_types(const ons_operands *o, uint32_t x, uint32_t scale, ons_cuda_norm *norm) {
    norm->dtype = o->inputs[x].dtype;
    norm->affine = o->inputs[scale].dtype;
    ONS_TRY(ons_cuda_require_plain(o));
    return ons_cuda_require_float(o, norm->dtype);
}

void ons_cuda_norm_parts(ons_prepare *p, ons_cuda_norm *norm) {
    int64_t parts = (norm->norm.rows + 31) / 32;
    norm->parts = parts < 1 ? 1 : parts > ONS_CUDA_PARTS_MAX ? ONS_CUDA_PARTS_MAX : (int)parts;
    p->scratch_bytes = (2 * norm->parts * norm->norm.columns * (int64_t)sizeof(float) + 63) / 64 * 64;
}

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
    ONS_NEW(state, p->arena, 1);
    *state = (ons_cuda_class_loss){ons_class_loss_of(o), o->inputs[0].dtype};
    p->state = state;
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
