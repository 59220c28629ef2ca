/* BatchNormalization: what its files share. */
#ifndef ONSTAGE_KERNELS_BATCH_NORMALIZATION_BATCH_NORMALIZATION_H
#define ONSTAGE_KERNELS_BATCH_NORMALIZATION_BATCH_NORMALIZATION_H

#include "kernels/common/operator/kernel.h"

enum { EPSILON, MOMENTUM, TRAINING_MODE };

static inline bool is_training(const ons_operands *o) { return ons_attribute_int(o, TRAINING_MODE) != 0; }

#endif
