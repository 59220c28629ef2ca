/* SampleMeanGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_SAMPLE_MEAN_SAMPLE_MEAN_GRADIENT_H
#define ONSTAGE_KERNELS_SAMPLE_MEAN_SAMPLE_MEAN_GRADIENT_H

#include "kernels/backend.h"

ons_status *ons_sample_mean_gradient_prepare(ons_prepare *p);

#endif
