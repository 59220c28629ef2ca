/* The sizes of the gradient of MaxRoiPool, from a node, and how its kernels are prepared. For C: the .cu file includes
 * max_roi_pool_gradient.h. */
#ifndef ONSTAGE_KERNELS_MAX_ROI_POOL_MAX_ROI_POOL_GRADIENT_NODE_H
#define ONSTAGE_KERNELS_MAX_ROI_POOL_MAX_ROI_POOL_GRADIENT_NODE_H

#include "kernels/max_roi_pool/max_roi_pool_gradient.h"

ons_status *ons_max_roi_pool_gradient_find_sizes(const ons_operands *o, ons_max_roi_pool_gradient *s);

ons_status *ons_max_roi_pool_gradient_prepare(ons_prepare *p);

#endif
