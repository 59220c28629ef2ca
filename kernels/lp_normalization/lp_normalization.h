/* LpNormalization's kernels, and its gradient's: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_LP_NORMALIZATION_LP_NORMALIZATION_H
#define ONSTAGE_KERNELS_LP_NORMALIZATION_LP_NORMALIZATION_H

#include "kernels/common/rows/rows.h"

typedef struct ons_lp_normalization {
    ons_axis_view view;
    int p;
} ons_lp_normalization;

#endif
