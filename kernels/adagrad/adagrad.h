/* Adagrad: what its files share. */
#ifndef ONSTAGE_KERNELS_ADAGRAD_ADAGRAD_H
#define ONSTAGE_KERNELS_ADAGRAD_ADAGRAD_H

enum { EPSILON, WEIGHT_DECAY };

#endif
