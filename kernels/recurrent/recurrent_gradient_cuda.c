/* RecurrentGradient on CUDA: what the host works out. */
#include "kernels/recurrent/recurrent_gradient.h"

#include "kernels/recurrent/cuda_recurrent.h"

extern ons_run_function ons_cuda_run_recurrent_gradient;

static ons_status *recurrent_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_recurrent_gradient_prepare(p, cell_of(p->operands));
}

ONS_KERNELS(cuda, recurrent_gradient, ONS_KERNEL(recurrent_gradient_prepare_cuda, ons_cuda_run_recurrent_gradient))
