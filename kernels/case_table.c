/* The cases of all operators: operators.inc once more, so a folder without cases does not link. */
#include "kernels/case.h"
#include "kernels/kernels.h"

#define ONS_OPERATOR(SYMBOL)            extern const ons_case ons_cases_##SYMBOL[];
#define ONS_GRAPH_OPERATOR(SYMBOL, WHY) ONS_OPERATOR(SYMBOL)
#include "kernels/operators.inc"
#undef ONS_OPERATOR

static const ons_case *const table[] = {
#define ONS_OPERATOR(SYMBOL) ons_cases_##SYMBOL,
#include "kernels/operators.inc"
#undef ONS_OPERATOR
#undef ONS_GRAPH_OPERATOR
};

const ons_case *ons_cases_of(const ons_operator *op) {
    const ons_registry *registry = ons_kernels_registry();
    for (size_t i = 0; i < registry->count; ++i)
        if (registry->operators[i] == op) return table[i];
    return NULL;
}
