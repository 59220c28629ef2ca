/* Relu: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_relu[] = {
    ONS_UNARY_CASES(-1, 1, 0),
    ONS_EDGE_CASE("edges", 0, 4, NAN, INFINITY, -INFINITY, 0),
    ONS_UNARY_INTEGER_CASES,
    {.name = NULL},
};
