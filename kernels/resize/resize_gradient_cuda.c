/* ResizeGradient on CUDA: what the host works out. */
#include "kernels/resampling/cuda_separable.h"
#include "kernels/resampling/resample.h"

static ons_status *resize_gradient_prepare_cuda(ons_prepare *p) {
    ons_resampling r;
    ONS_TRY(ons_resampling_of_gradient(p->operands, &r));
    return ons_cuda_resampling_prepare(p, &r, true);
}

ONS_KERNELS(cuda, resize_gradient, ONS_KERNEL(resize_gradient_prepare_cuda, ons_cuda_separable_run))
