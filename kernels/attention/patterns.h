/* The decomposed forms of attention that exporters emit. */
#ifndef ONSTAGE_KERNELS_ATTENTION_PATTERNS_H
#define ONSTAGE_KERNELS_ATTENTION_PATTERNS_H

#include "graph/operator.h"

extern const ons_pattern ons_attention_patterns[];

#endif
