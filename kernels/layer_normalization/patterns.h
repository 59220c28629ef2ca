/* The decomposed forms of LayerNormalization that exporters below opset 17 emit. */
#ifndef ONSTAGE_KERNELS_LAYER_NORMALIZATION_PATTERNS_H
#define ONSTAGE_KERNELS_LAYER_NORMALIZATION_PATTERNS_H

#include "graph/operator.h"

extern const ons_pattern ons_layer_norm_patterns[];

#endif
