/* Max: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/common/elementwise/variadic.h"

const ons_case ons_cases_max[] = {
    ONS_CHOICE_CASES,
    {.name = NULL},
};
