/* Numbers of LpNormalization's attributes, and how its kernels are prepared. For C: the .cu file includes
 * lp_normalization.h. */
#ifndef ONSTAGE_KERNELS_LP_NORMALIZATION_LP_NORMALIZATION_NODE_H
#define ONSTAGE_KERNELS_LP_NORMALIZATION_LP_NORMALIZATION_NODE_H

#include "graph/operator.h"
#include "kernels/lp_normalization/lp_normalization.h"

enum { AXIS, P };

ons_status *ons_lp_normalization_prepare(ons_prepare *p);

#endif
