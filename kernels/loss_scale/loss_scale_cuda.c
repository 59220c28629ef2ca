/* LossScale on CUDA: what the host works out. */
#include "kernels/loss_scale/loss_scale_node.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/common/operator/kernel.h"

static ons_status *loss_scale_cuda_prepare(ons_prepare *p) {
    ons_cuda_elementwise *state;
    ONS_NEW_STATE(state, p);
    state->input_count = p->operands->input_count;
    state->parameters[0] = (float)ons_attribute_float(p->operands, MAX_NORM);
    state->parameters[1] = (float)ons_attribute_float(p->operands, INTERVAL);
    p->scratch_bytes = 64; /* the sum so far */
    return NULL;
}

ONS_CUDA_KERNEL(loss_scale, loss_scale_cuda_prepare)
