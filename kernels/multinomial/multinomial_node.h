/* Numbers of Multinomial's attributes. For C: the .cu file includes multinomial.h. */
#ifndef ONSTAGE_KERNELS_MULTINOMIAL_MULTINOMIAL_NODE_H
#define ONSTAGE_KERNELS_MULTINOMIAL_MULTINOMIAL_NODE_H

#include "kernels/multinomial/multinomial.h"

enum { DTYPE, SEED, SAMPLES };

#endif
