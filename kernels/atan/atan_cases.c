/* Atan: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_atan[] = {
    ONS_UNARY_CASES(-4, 4, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 7, NAN, INFINITY, -INFINITY, 0, -0.0, 1, 1e20),
    {.name = NULL},
};
