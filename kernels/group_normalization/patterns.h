/* The form that exporters give to GroupNormalization below opset 18. */
#ifndef ONSTAGE_KERNELS_GROUP_NORMALIZATION_PATTERNS_H
#define ONSTAGE_KERNELS_GROUP_NORMALIZATION_PATTERNS_H

#include "graph/operator.h"

extern const ons_pattern ons_group_norm_patterns[];

#endif
