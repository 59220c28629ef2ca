/* SliceGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_SLICE_SLICE_GRADIENT_H
#define ONSTAGE_KERNELS_SLICE_SLICE_GRADIENT_H

#include "kernels/backend.h"

ons_status *ons_slice_gradient_prepare(ons_prepare *p);

#endif
