/* BitwiseAnd: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

#define BITS(...) ONS_RANDOM(ONS_INT32, -99, 99, ##__VA_ARGS__)

const ons_case ons_cases_bitwise_and[] = {
    ONS_BROADCAST_CASES(BITS, BITS, 0),
    ONS_BITWISE_CASES,
    {.name = NULL},
};
