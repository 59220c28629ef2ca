/* Asinh: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_asinh[] = {
    ONS_UNARY_CASES(-4, 4, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 7, NAN, INFINITY, -INFINITY, 0, 1e-20, 3e38, -1e5),
    {.name = NULL},
};
