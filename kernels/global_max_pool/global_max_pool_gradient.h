/* GlobalMaxPoolGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_GLOBAL_MAX_POOL_GLOBAL_MAX_POOL_GRADIENT_H
#define ONSTAGE_KERNELS_GLOBAL_MAX_POOL_GLOBAL_MAX_POOL_GRADIENT_H

#include "kernels/backend.h"

ons_status *ons_global_max_pool_gradient_prepare(ons_prepare *p);

#endif
