/* LayerNormalization on CUDA: what the host works out. */
#include "kernels/layer_normalization/layer_normalization.h"

#include "kernels/normalization/cuda_norm.h"

extern ons_run_function ons_cuda_run_layer_normalization;

static ons_status *layer_normalization_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_cuda_norm *state;
    ONS_NEW(state, p->arena, 1);
    ONS_TRY(ons_cuda_norm_types(o, 0, 1, state));
    state->epsilon = (float)ons_attribute_float(o, EPSILON);
    state->has_bias = ons_has_input(o, 2);
    p->state = state;
    p->implementation = "cuda:rows";
    return find_norm(o, &state->norm);
}

ONS_KERNELS(cuda, layer_normalization, ONS_KERNEL(layer_normalization_cuda_prepare, ons_cuda_run_layer_normalization))
