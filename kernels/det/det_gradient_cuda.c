/* DetGradient on CUDA: what the host works out. */
#include "kernels/det/cuda_determinant.h"

static ons_status *det_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_determinant_prepare(p, &p->operands->inputs[1], 3);
}

ONS_CUDA_KERNEL(det_gradient, det_gradient_prepare_cuda)
