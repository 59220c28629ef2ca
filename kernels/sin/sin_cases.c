/* Sin: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_sin[] = {
    ONS_UNARY_CASES(-10, 10, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 9, NAN, INFINITY, -INFINITY, 0, 1000, -999999, 1e7, -3e38, 1e-30),
    {.name = NULL},
};
