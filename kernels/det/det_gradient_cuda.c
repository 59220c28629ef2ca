/* DetGradient on CUDA: what the host works out. */
#include "kernels/det/cuda_determinant.h"

extern ons_run_function ons_cuda_run_det_gradient;

static ons_status *det_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_determinant_prepare(p, &p->operands->inputs[1], 3);
}

ONS_KERNELS(cuda, det_gradient, ONS_KERNEL(det_gradient_prepare_cuda, ons_cuda_run_det_gradient))
