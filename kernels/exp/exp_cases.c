/* Exp: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_exp[] = {
    ONS_UNARY_CASES(-1, 1, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 9, NAN, INFINITY, -INFINITY, 0, -0.0, -103.5, -90, 88.7, 100),
    {.name = NULL},
};
