/* SoftsignGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_softsign_gradient[] = {
    ONS_PAIR_CASES(-3, 3, 2e-6),

    {.name = NULL},
};
