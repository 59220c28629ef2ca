/* LessOrEqual: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_less_or_equal[] = {
    ONS_BROADCAST_CASES(ONS_F32, ONS_F32, 0), ONS_COMPARISON_EDGE_CASE, ONS_UINT64_CASE,
    ONS_BROADCAST_INTEGER_CASES(-9),          {.name = NULL},
};
