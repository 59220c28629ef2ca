/* RoiAlignGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_ROI_ALIGN_ROI_ALIGN_GRADIENT_H
#define ONSTAGE_KERNELS_ROI_ALIGN_ROI_ALIGN_GRADIENT_H

#include "kernels/roi_align/region.h"

enum { COTANGENT, CORNERS, IMAGES, X };

ons_status *ons_roi_align_gradient_regions_of(const ons_operands *o, ons_regions *r, ons_type *x);

ons_status *ons_roi_align_gradient_prepare(ons_prepare *p);

#endif
