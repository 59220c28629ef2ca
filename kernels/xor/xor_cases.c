/* Xor: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

#define TRUTH(...) ONS_RANDOM(ONS_BOOL, 0, 1, ##__VA_ARGS__)

const ons_case ons_cases_xor[] = {
    ONS_BROADCAST_CASES(TRUTH, TRUTH, 0),
    {.name = NULL},
};
