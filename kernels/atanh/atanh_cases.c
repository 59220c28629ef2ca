/* Atanh: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_atanh[] = {
    ONS_UNARY_CASES(-0.9, 0.9, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 7, NAN, 1, -1, 0, 1e-20, 2, -INFINITY),
    {.name = NULL},
};
