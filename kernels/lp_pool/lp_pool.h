/* LpPool: what its files share. */
#ifndef ONSTAGE_KERNELS_LP_POOL_LP_POOL_H
#define ONSTAGE_KERNELS_LP_POOL_LP_POOL_H

#include "kernels/pooling/lp.h"
#include "kernels/pooling/pooling.h"

enum { P = ONS_POOLING_STORAGE_ORDER + 1 };

static inline ons_status *resolve_lp_pooling(const ons_operands *o, ons_pooling *pooling, int *p) {
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    ONS_TRY(ons_lp_order(o, P, ONS_LP_MAX, p));
    return ons_pooling_resolve(o, &o->inputs[0], pooling);
}

#endif
