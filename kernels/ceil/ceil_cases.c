/* Ceil: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_ceil[] = {
    ONS_UNARY_CASES(-5, 5, 0),
    {.name = NULL},
};
