/* RMSNormalizationGradient on CUDA: what the host works out. */
#include "kernels/rms_normalization/rms_normalization_gradient.h"

#include "kernels/normalization/cuda_norm.h"

static ons_status *rms_normalization_gradient_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_cuda_norm *state;
    ONS_NEW_STATE(state, p);
    ONS_TRY(ons_cuda_norm_types(o, 1, 2, state));
    ons_resolved(find_norm(o, &state->norm));
    ons_cuda_norm_gradient(p, EXTRA, state);
    p->implementation = "cuda:rows";
    return NULL;
}

ONS_CUDA_KERNEL(rms_normalization_gradient, rms_normalization_gradient_cuda_prepare)
