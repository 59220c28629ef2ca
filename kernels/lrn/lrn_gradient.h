/* LRNGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_LRN_LRN_GRADIENT_H
#define ONSTAGE_KERNELS_LRN_LRN_GRADIENT_H

#include "kernels/backend.h"

ons_status *ons_lrn_gradient_prepare(ons_prepare *p);

#endif
