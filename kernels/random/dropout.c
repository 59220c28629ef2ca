#include "kernels/random/dropout.h"

#include "kernels/common/operator/kernel.h"

double ons_dropout_scale(double ratio) { return ratio < 1 ? 1 / (1 - ratio) : 0; }

ons_status *ons_dropout_check(const ons_operands *o, double ratio) {
    if (!(ratio >= 0 && ratio <= 1))
        return ons_node_error(o, "a dropout ratio of %g; it must lie between 0 and 1", ratio);
    return NULL;
}
