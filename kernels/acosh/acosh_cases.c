/* Acosh: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_acosh[] = {
    ONS_UNARY_CASES(1.1, 4, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 7, NAN, INFINITY, 1, 0.5, -3, 3e38, 1.0001),
    {.name = NULL},
};
