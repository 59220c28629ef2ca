/* Round: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_round[] = {
    ONS_UNARY_CASES(-5, 5, 0),
    ONS_EDGE_CASE("halves", 0, 6, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5),
    {.name = NULL},
};
