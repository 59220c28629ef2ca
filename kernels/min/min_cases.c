/* Min: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/common/elementwise/variadic.h"

const ons_case ons_cases_min[] = {
    ONS_CHOICE_CASES,
    {.name = NULL},
};
