/* The number of GlobalLpPool's attribute, and how its kernels are prepared. For C: the .cu file includes
 * global_lp_pool.h. */
#ifndef ONSTAGE_KERNELS_GLOBAL_LP_POOL_GLOBAL_LP_POOL_NODE_H
#define ONSTAGE_KERNELS_GLOBAL_LP_POOL_GLOBAL_LP_POOL_NODE_H

#include "graph/operator.h"
#include "kernels/global_lp_pool/global_lp_pool.h"

enum { P };

ons_status *ons_global_lp_pool_prepare(ons_prepare *p);

#endif
