/* HardSwishGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_hard_swish_gradient[] = {
    ONS_PAIR_CASES(-5, 5, 2e-6),

    {.name = NULL},
};
