/* HardSwish: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_hard_swish[] = {
    ONS_UNARY_CASES(-5, 5, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 6, NAN, INFINITY, 0, -3, 3, -1e30),
    {.name = NULL},
};
