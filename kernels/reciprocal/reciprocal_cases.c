/* Reciprocal: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_reciprocal[] = {
    ONS_UNARY_CASES(0.2, 2, 1e-6),
    {.name = NULL},
};
