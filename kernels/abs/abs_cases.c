/* Abs: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_abs[] = {
    ONS_UNARY_CASES(-1, 1, 0),
    ONS_EDGE_CASE("edges", 0, 5, NAN, INFINITY, -INFINITY, 0, -0.0),
    ONS_UNARY_INTEGER_CASES,
    {.name = NULL},
};
