/* Erf: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_erf[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 9, NAN, INFINITY, -INFINITY, 0, -0.0, 5, -5, 0.92, 1e-30),
    {.name = NULL},
};
