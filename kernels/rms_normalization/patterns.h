/* The decomposed forms of RMSNormalization. */
#ifndef ONSTAGE_KERNELS_RMS_NORMALIZATION_PATTERNS_H
#define ONSTAGE_KERNELS_RMS_NORMALIZATION_PATTERNS_H

#include "graph/operator.h"

extern const ons_pattern ons_rms_norm_patterns[];

#endif
