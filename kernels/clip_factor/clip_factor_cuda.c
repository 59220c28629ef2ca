/* ClipFactor on CUDA: what the host works out. */
#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/common/operator/kernel.h"

static ons_status *clip_factor_cuda_prepare(ons_prepare *p) {
    ons_cuda_elementwise *state;
    ONS_NEW_STATE(state, p);
    state->input_count = p->operands->input_count;
    state->parameters[0] = (float)ons_attribute_float(p->operands, 0);
    p->scratch_bytes = 64; /* the sum so far */
    return NULL;
}

ONS_CUDA_KERNEL(clip_factor, clip_factor_cuda_prepare)
