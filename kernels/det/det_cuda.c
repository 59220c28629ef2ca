/* Det on CUDA: what the host works out. */
#include "kernels/det/cuda_determinant.h"

static ons_status *det_prepare_cuda(ons_prepare *p) {
    return ons_cuda_determinant_prepare(p, &p->operands->inputs[0], 1);
}

ONS_CUDA_KERNEL(det, det_prepare_cuda)
