/* The attributes of Rotation by position, and the decomposed forms that it replaces. */
#ifndef ONSTAGE_KERNELS_ROTATION_PATTERNS_H
#define ONSTAGE_KERNELS_ROTATION_PATTERNS_H

#include "graph/operator.h"

enum { ONS_ROTATION_SIZE, ONS_ROTATION_INTERLEAVED, ONS_ROTATION_INVERSE };

extern const ons_pattern ons_rotation_patterns[];

#endif
