/* RoiAlign: what its files share. */
#ifndef ONSTAGE_KERNELS_ROI_ALIGN_ROI_ALIGN_H
#define ONSTAGE_KERNELS_ROI_ALIGN_ROI_ALIGN_H

#include "kernels/backend.h"

enum { X, CORNERS, IMAGES };

ons_status *ons_roi_align_prepare(ons_prepare *p);

#endif
