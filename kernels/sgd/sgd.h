/* Sgd: what its files share. */
#ifndef ONSTAGE_KERNELS_SGD_SGD_H
#define ONSTAGE_KERNELS_SGD_SGD_H

enum { MOMENTUM, WEIGHT_DECAY, NESTEROV };

#endif
