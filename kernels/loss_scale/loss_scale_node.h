/* Numbers of LossScale's inputs, results and attributes. For C: the .cu file includes loss_scale.h. */
#ifndef ONSTAGE_KERNELS_LOSS_SCALE_LOSS_SCALE_NODE_H
#define ONSTAGE_KERNELS_LOSS_SCALE_LOSS_SCALE_NODE_H

#include "kernels/loss_scale/loss_scale.h"

enum { SCALE_IN, COUNTS_IN, SQUARES_IN };

enum { SCALE, COUNTS, NORM, FACTOR, USED, RESULTS };

enum { MAX_NORM, INTERVAL };

#endif
