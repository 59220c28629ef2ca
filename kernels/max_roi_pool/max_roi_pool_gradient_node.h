/* How the C files of this folder see a node. */
#ifndef ONSTAGE_KERNELS_MAX_ROI_POOL_MAX_ROI_POOL_GRADIENT_NODE_H
#define ONSTAGE_KERNELS_MAX_ROI_POOL_MAX_ROI_POOL_GRADIENT_NODE_H

#include "kernels/max_roi_pool/max_roi_pool_gradient.h"

ons_status *ons_max_roi_pool_gradient_find_sizes(const ons_operands *o, ons_max_roi_pool_gradient *s);

ons_status *ons_max_roi_pool_gradient_prepare(ons_prepare *p);

#endif
