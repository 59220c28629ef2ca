/* DropoutTraining: what its files share. */
#ifndef ONSTAGE_KERNELS_DROPOUT_TRAINING_DROPOUT_TRAINING_H
#define ONSTAGE_KERNELS_DROPOUT_TRAINING_DROPOUT_TRAINING_H

#include "kernels/backend.h"

enum { RATIO, SEED };

ons_status *ons_dropout_training_make_state(ons_prepare *p);

#endif
