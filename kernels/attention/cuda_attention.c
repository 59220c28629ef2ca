#include "kernels/attention/cuda_attention.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

static void destroy(void *state) {
    ons_cuda_attention_state *s = state;
    ons_cudnn_plan_free(s->dnn.plan);
    ons_attention_products_free(&s->products);
}

void ons_cuda_attention_own(ons_prepare *p, const ons_cuda_attention_state *state) {
    if (state->dnn.plan != NULL || state->products.scores != NULL) p->destroy = destroy;
}

ons_status *ons_cuda_attention_prepare(ons_prepare *p, const ons_attention *attention,
                                       ons_cuda_attention_state **result) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    if (attention->size > ONS_CUDA_ATTENTION_SIZE)
        return ons_node_error(o, "heads of %lld elements, the CUDA kernel takes at most %d", (long long)attention->size,
                              ONS_CUDA_ATTENTION_SIZE);
    ons_cuda_attention_state *state;
    ONS_NEW(state, p->arena, 1);
    state->attention = *attention;
    state->dtype = o->inputs[0].dtype;
    p->state = *result = state;
    p->implementation = "cuda:a warp each query";
    return NULL;
}
