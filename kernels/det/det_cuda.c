/* Det on CUDA: what the host works out. */
#include "kernels/det/cuda_determinant.h"

extern ons_run_function ons_cuda_run_det;

static ons_status *det_prepare_cuda(ons_prepare *p) {
    return ons_cuda_determinant_prepare(p, &p->operands->inputs[0], 1);
}

ONS_KERNELS(cuda, det, ONS_KERNEL(det_prepare_cuda, ons_cuda_run_det))
