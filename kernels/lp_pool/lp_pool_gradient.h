/* LpPoolGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_LP_POOL_LP_POOL_GRADIENT_H
#define ONSTAGE_KERNELS_LP_POOL_LP_POOL_GRADIENT_H

#include "kernels/pooling/lp.h"
#include "kernels/pooling/pooling.h"

enum { P = ONS_POOLING_STORAGE_ORDER + 1 };

static inline ons_status *resolve_lp_pooling(const ons_operands *o, ons_pooling *pooling, int *p) {
    ONS_TRY(ons_lp_order(o, P, ONS_LP_MAX, p));
    ONS_TRY(ons_pooling_resolve(o, &o->inputs[1], pooling));
    if (!ons_shape_equal(&pooling->y.shape, &o->inputs[0].shape) ||
        !ons_shape_equal(&pooling->y.shape, &o->inputs[2].shape))
        return ons_node_error(o, "the gradient does not have the shape of the pooling's output");
    return NULL;
}

#endif
