/* Add: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_add[] = {
    ONS_BROADCAST_CASES(ONS_F32, ONS_F32, 1e-6),
    ONS_BROADCAST_INTEGER_CASES(-9),
    {.name = NULL},
};
