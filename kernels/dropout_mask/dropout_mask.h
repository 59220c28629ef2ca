/* DropoutMask: what its files share. */
#ifndef ONSTAGE_KERNELS_DROPOUT_MASK_DROPOUT_MASK_H
#define ONSTAGE_KERNELS_DROPOUT_MASK_DROPOUT_MASK_H

#include "kernels/backend.h"

enum { RATIO, SEED, SHAPE };

ons_status *ons_dropout_mask_prepare(ons_prepare *p);

#endif
