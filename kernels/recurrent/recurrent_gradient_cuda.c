/* RecurrentGradient on CUDA: what the host works out. */
#include "kernels/recurrent/recurrent_gradient.h"

#include "kernels/recurrent/cuda_recurrent.h"

static ons_status *recurrent_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_recurrent_gradient_prepare(p, cell_of(p->operands));
}

ONS_CUDA_KERNEL(recurrent_gradient, recurrent_gradient_prepare_cuda)
