/* PReluSlopeGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_prelu_slope_gradient[] = {
    ONS_PAIR_CASES(-1, 1, 1e-6),
    {.name = NULL},
};
