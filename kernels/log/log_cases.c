/* Log: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_log[] = {
    ONS_UNARY_CASES(0.1, 4, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 9, NAN, INFINITY, -INFINITY, 0, -0.0, -1, 1e-40, 3e38, 1),
    {.name = NULL},
};
