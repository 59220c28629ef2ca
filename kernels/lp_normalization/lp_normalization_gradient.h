/* LpNormalizationGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_LP_NORMALIZATION_LP_NORMALIZATION_GRADIENT_H
#define ONSTAGE_KERNELS_LP_NORMALIZATION_LP_NORMALIZATION_GRADIENT_H

#include "kernels/backend.h"

#include "kernels/lp_normalization/lp_normalization.h"

enum { AXIS, P };

ons_status *ons_lp_normalization_gradient_prepare(ons_prepare *p);

#endif
