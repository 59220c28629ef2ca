/* ResizeGradient on the CPU. */
#include "kernels/resampling/resample.h"

static ons_status *resize_gradient_prepare(ons_prepare *p) {
    ons_resampling r;
    ons_resolved(ons_resampling_of_gradient(p->operands, &r));
    return ons_resampling_prepare(p, &r, true);
}

ONS_KERNELS(cpu, resize_gradient, ONS_KERNEL(resize_gradient_prepare, ons_resampling_run))
