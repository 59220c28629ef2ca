/* MaxRoiPool: what its files share. */
#ifndef ONSTAGE_KERNELS_MAX_ROI_POOL_MAX_ROI_POOL_H
#define ONSTAGE_KERNELS_MAX_ROI_POOL_MAX_ROI_POOL_H

#include "kernels/max_roi_pool/roi_window.h"

ons_status *ons_max_roi_pool_find_sizes(const ons_operands *o, ons_roi_sizes *s);

ons_status *ons_max_roi_pool_prepare(ons_prepare *p);

#endif
