/* GridSampleGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_GRID_SAMPLE_GRID_SAMPLE_GRADIENT_H
#define ONSTAGE_KERNELS_GRID_SAMPLE_GRID_SAMPLE_GRADIENT_H

#include "kernels/backend.h"

enum { COTANGENT, X, GRID };

enum { X_GRADIENT, GRID_GRADIENT };

ons_status *ons_grid_sample_gradient_prepare(ons_prepare *p);

#endif
