/* Div: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

#define POSITIVE(...) ONS_F32_IN(0.3, 2, ##__VA_ARGS__)

const ons_case ons_cases_div[] = {
    ONS_BROADCAST_CASES(ONS_F32, POSITIVE, 1e-6),
    ONS_BROADCAST_INTEGER_CASES(1),
    ONS_UINT64_CASE,
    {.name = NULL},
};
