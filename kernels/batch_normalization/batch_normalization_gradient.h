/* BatchNormalizationGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_BATCH_NORMALIZATION_BATCH_NORMALIZATION_GRADIENT_H
#define ONSTAGE_KERNELS_BATCH_NORMALIZATION_BATCH_NORMALIZATION_GRADIENT_H

/* Low and high of the activation stand behind it. */
enum { CONSTANT_STATISTICS, EPSILON, REPLICAS, ACTIVATION };

/* Inputs of those with a gate. */
enum { GATE_REST = 5, GATE_SCALE };

enum { DX, DSCALE, DBIAS };

#endif
