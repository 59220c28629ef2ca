/* AttentionGradient on CUDA: what the host works out. */
#include "kernels/attention/attention_gradient.h"

#include "kernels/attention/attention_operands.h"
#include "kernels/attention/cuda_attention.h"

static ons_status *attention_gradient_cuda_prepare(ons_prepare *p) {
    ons_attention a;
    ons_resolved(find_attention(p->operands, &a));
    int64_t rows = a.batch * a.heads * a.queries;
    bool joins = a.has_mask && mask_batch(&a) < a.batch;
    p->scratch_bytes = ((2 * rows + (joins ? rows * a.keys : 0)) * (int64_t)sizeof(float) + 63) / 64 * 64;
    ons_cuda_attention_state *state;
    ONS_TRY(ons_cuda_attention_prepare(p, &a, &state));
    state->has_result = ons_has_input(p->operands, RESULT);
    bool all = true; /* the library makes all three gradients or none */
    for (int i = 0; i < 3; ++i)
        all = all && ons_has_output(p->operands, (uint32_t)ons_attention_gradient_output(&a, i));
    if (state->has_result && all)
        ONS_TRY(ons_cudnn_attention_gradient_prepare(p, &a, p->operands->inputs[1].dtype, &state->dnn));
    ons_status *status = NULL;
    if (state->dnn.plan == NULL) status = ons_attention_products_prepare(p, &a, state->dtype, true, &state->products);
    ons_cuda_attention_own(p, state);
    return status;
}

ONS_CUDA_KERNEL(attention_gradient, attention_gradient_cuda_prepare)
