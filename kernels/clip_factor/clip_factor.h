/* By what gradients are clipped: ClipFactor, and LossScale, which clips as well, compute it alike on every device. */
#ifndef ONSTAGE_KERNELS_CLIP_FACTOR_CLIP_FACTOR_H
#define ONSTAGE_KERNELS_CLIP_FACTOR_CLIP_FACTOR_H

#include "base/host_device.h"

/* Gives min(1, max_norm / (norm + 1e-6)), as torch's clip_grad_norm_ has it; 1 where max_norm is 0. */
static ONS_HOST_DEVICE inline double ons_clip_factor_of(double norm, double max_norm) {
    double factor = max_norm / (norm + 1e-6);
    return max_norm <= 0 || factor > 1 ? 1 : factor;
}

#endif
