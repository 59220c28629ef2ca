/* BatchNormalizationTraining: what its files share. */
#ifndef ONSTAGE_KERNELS_BATCH_NORMALIZATION_TRAINING_BATCH_NORMALIZATION_TRAINING_H
#define ONSTAGE_KERNELS_BATCH_NORMALIZATION_TRAINING_BATCH_NORMALIZATION_TRAINING_H

/* Low and high of the activation stand behind it. */
enum { EPSILON, MOMENTUM, UNBIASED, REPLICAS, ACTIVATION };

enum { X, SCALE, BIAS, RUNNING_MEAN, RUNNING_VARIANCE, RESIDUAL };

/* The slope is what x is multiplied by: scale × inverse, rounded once. */
enum { Y, MEAN, VARIANCE, SAVED_MEAN, SAVED_INVERSE, SAVED_SLOPE, OUTPUTS };

#endif
