/* Mish: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_mish[] = {
    ONS_UNARY_CASES(-6, 6, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 5, NAN, INFINITY, 100, -100, -1e30),
    {.name = NULL},
};
