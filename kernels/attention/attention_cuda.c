/* Attention on CUDA: what the host works out. */
#include "kernels/attention/attention.h"

#include "kernels/attention/attention_operands.h"
#include "kernels/attention/cuda_attention.h"

static ons_status *attention_cuda_prepare(ons_prepare *p) {
    ons_attention a;
    ons_cuda_attention_state *state;
    ons_resolved(find_attention(p->operands, &a));
    ONS_TRY(ons_cuda_attention_prepare(p, &a, &state));
    state->saves = ons_has_output(p->operands, 1);
    ONS_TRY(ons_cudnn_attention_prepare(p, &a, state->dtype, state->saves, &state->dnn));
    ons_status *status = NULL;
    if (state->dnn.plan == NULL) status = ons_attention_products_prepare(p, &a, state->dtype, false, &state->products);
    ons_cuda_attention_own(p, state);
    return status;
}

ONS_CUDA_KERNEL(attention, attention_cuda_prepare)
