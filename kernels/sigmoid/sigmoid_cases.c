/* Sigmoid: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_sigmoid[] = {
    ONS_UNARY_CASES(-6, 6, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 7, NAN, INFINITY, -INFINITY, 0, -0.0, 100, -100),
    {.name = NULL},
};
