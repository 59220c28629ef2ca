/* SampleMean and its gradient: what their files share. */
#ifndef ONSTAGE_KERNELS_SAMPLE_MEAN_SAMPLE_MEAN_H
#define ONSTAGE_KERNELS_SAMPLE_MEAN_SAMPLE_MEAN_H

#include "kernels/backend.h"

ons_status *ons_sample_mean_prepare(ons_prepare *p);
ons_status *ons_sample_mean_gradient_prepare(ons_prepare *p);

#endif
