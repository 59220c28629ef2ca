/* Tan: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_tan[] = {
    ONS_UNARY_CASES(-1.4, 1.4, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 7, NAN, INFINITY, -INFINITY, 0, 1000, -999999, 1e7),
    {.name = NULL},
};
