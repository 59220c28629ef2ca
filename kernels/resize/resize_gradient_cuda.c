/* ResizeGradient on CUDA: what the host works out. */
#include "kernels/resampling/resample.h"

static ons_status *resize_gradient_prepare_cuda(ons_prepare *p) {
    ons_resampling r;
    ONS_TRY(ons_resampling_of_gradient(p->operands, &r));
    return ons_cuda_resampling_prepare(p, &r, true);
}

ONS_CUDA_KERNEL(resize_gradient, resize_gradient_prepare_cuda)
