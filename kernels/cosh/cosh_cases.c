/* Cosh: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_cosh[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 7, NAN, INFINITY, -INFINITY, 0, 89, -30, 1e-20),
    {.name = NULL},
};
