/* LayerNormalizationGradient on CUDA: what the host works out. */
#include "kernels/layer_normalization/layer_normalization_gradient.h"

#include "kernels/normalization/cuda_norm.h"

extern ons_run_function ons_cuda_run_layer_normalization_gradient;

static ons_status *layer_normalization_gradient_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_cuda_norm *state;
    ONS_NEW(state, p->arena, 1);
    ONS_TRY(ons_cuda_norm_types(o, 1, 2, state));
    ons_resolved(find_norm(o, &state->norm));
    ons_cuda_norm_gradient(p, EXTRA, state);
    p->state = state;
    p->implementation = "cuda:rows";
    return NULL;
}

ONS_KERNELS(cuda, layer_normalization_gradient,
            ONS_KERNEL(layer_normalization_gradient_cuda_prepare, ons_cuda_run_layer_normalization_gradient))
