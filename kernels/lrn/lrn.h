/* LRN: what its files share. */
#ifndef ONSTAGE_KERNELS_LRN_LRN_H
#define ONSTAGE_KERNELS_LRN_LRN_H

#include "kernels/backend.h"

ons_status *ons_lrn_prepare(ons_prepare *p);

#endif
