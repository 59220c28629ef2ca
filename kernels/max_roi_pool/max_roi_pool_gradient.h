/* MaxRoiPoolGradient's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_MAX_ROI_POOL_MAX_ROI_POOL_GRADIENT_H
#define ONSTAGE_KERNELS_MAX_ROI_POOL_MAX_ROI_POOL_GRADIENT_H

#include "kernels/common/operator/kernel.h"

typedef struct ons_max_roi_pool_gradient {
    int64_t batch, channels, positions, regions, bins;
} ons_max_roi_pool_gradient;

#endif
