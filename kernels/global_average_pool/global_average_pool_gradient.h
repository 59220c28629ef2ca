/* GlobalAveragePoolGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_GLOBAL_AVERAGE_POOL_GLOBAL_AVERAGE_POOL_GRADIENT_H
#define ONSTAGE_KERNELS_GLOBAL_AVERAGE_POOL_GLOBAL_AVERAGE_POOL_GRADIENT_H

#include "kernels/backend.h"

ons_status *ons_global_average_pool_gradient_prepare(ons_prepare *p);

#endif
