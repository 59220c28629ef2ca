/* GlobalLpPoolGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_GLOBAL_LP_POOL_GLOBAL_LP_POOL_GRADIENT_H
#define ONSTAGE_KERNELS_GLOBAL_LP_POOL_GLOBAL_LP_POOL_GRADIENT_H

#include "kernels/backend.h"

#include "kernels/global_lp_pool/global_lp_pool.h"

enum { P };

ons_status *ons_global_lp_pool_gradient_prepare(ons_prepare *p);

#endif
