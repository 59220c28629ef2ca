#include "kernels/kernels.h"

#include "kernels/common/layout/layouts.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"
#include "kernels/reorder/relayout.h"

static const ons_operator *const operators[] = {
#define ONS_OPERATOR(SYMBOL)            &ons_op_##SYMBOL,
#define ONS_GRAPH_OPERATOR(SYMBOL, WHY) ONS_OPERATOR(SYMBOL)
#include "kernels/operators.inc"
#undef ONS_OPERATOR
#undef ONS_GRAPH_OPERATOR
};

static const ons_unsupported unsupported[] = {
#define ONS_UNSUPPORTED_OPERATOR(DOMAIN, NAME, REASON, REMEDY) {DOMAIN, NAME, REASON, REMEDY},
#include "kernels/unsupported.inc"
#undef ONS_UNSUPPORTED_OPERATOR
};

const ons_registry *ons_kernels_registry(void) {
    static const ons_registry registry = {
        .operators = operators,
        .count = sizeof operators / sizeof operators[0],
        .unsupported = unsupported,
        .unsupported_count = sizeof unsupported / sizeof unsupported[0],
        .layout_bytes = ons_layout_bytes,
        .relayout = ons_relayout,
        .layout_name = ons_layout_name,
        .layout_broadcasts = ons_layout_broadcasts,
    };
    return &registry;
}
