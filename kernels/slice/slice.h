/* Slice: what its files share. */
#ifndef ONSTAGE_KERNELS_SLICE_SLICE_H
#define ONSTAGE_KERNELS_SLICE_SLICE_H

#include "kernels/backend.h"

ons_status *ons_slice_prepare(ons_prepare *p);

#endif
