/* What the operators with a p-norm share, for integer p ≥ 1: |x|^p, the root of their sum, and the slope of |x|^p ÷ p.
 */
#ifndef ONSTAGE_KERNELS_POOLING_LP_H
#define ONSTAGE_KERNELS_POOLING_LP_H

#include <math.h>

#include "graph/upgrade.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/pooling/lp_terms.h"

enum { ONS_LP_MAX = 64 };

/* Slopes and shares of lp_terms.h in double, for references. */
static inline double ons_lp_slope_exact(double x, int p) {
    return ((double)(x > 0) - (double)(x < 0)) * pow(fabs(x), p - 1);
}
static inline double ons_lp_share_exact(double norm, int p) { return norm == 0 && p > 1 ? 0 : pow(norm, 1 - p); }

/* Attribute `index`, which must be from 1 to `most`. */
static inline ons_status *ons_lp_order(const ons_operands *o, uint32_t index, int64_t most, int *p) {
    int64_t given = ons_attribute_int(o, index);
    if (given < 1 || given > most)
        return ons_node_error(o, "p is %lld; it must be from 1 to %lld", (long long)given, (long long)most);
    *p = (int)given;
    return NULL;
}

/* In opset 1 p was a float. */
static inline ons_status *ons_lp_upgrade(ons_upgrade *u) {
    const ons_attribute *p = ons_upgrade_find(u, "p");
    if (p == NULL || p->kind != ONS_ATTRIBUTE_FLOAT || !(fabs(p->f) < 1e9)) return NULL;
    return ons_upgrade_set(u, "p", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = llround(p->f)});
}

#endif
