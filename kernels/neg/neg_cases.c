/* Neg: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_neg[] = {
    ONS_UNARY_CASES(-1, 1, 0),
    ONS_UNARY_INTEGER_CASES,
    {.name = NULL},
};
