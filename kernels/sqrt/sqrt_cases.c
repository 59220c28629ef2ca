/* Sqrt: cases for tests and benchmarks. */
#include <math.h>

#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_sqrt[] = {
    ONS_UNARY_CASES(0.1, 4, 1e-6),
    ONS_EDGE_CASE("edges", 1e-6, 4, NAN, INFINITY, 0, -1),
    {.name = NULL},
};
