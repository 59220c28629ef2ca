/* How the C files of this folder see a node. */
#ifndef ONSTAGE_KERNELS_MULTINOMIAL_MULTINOMIAL_NODE_H
#define ONSTAGE_KERNELS_MULTINOMIAL_MULTINOMIAL_NODE_H

#include "kernels/multinomial/multinomial.h"

enum { DTYPE, SEED, SAMPLES };

#endif
