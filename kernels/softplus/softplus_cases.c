/* Softplus: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_softplus[] = {
    ONS_UNARY_CASES(-6, 6, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 5, INFINITY, -INFINITY, 100, -100, -20),
    {.name = NULL},
};
