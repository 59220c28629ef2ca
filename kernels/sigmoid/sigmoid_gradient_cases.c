/* SigmoidGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_sigmoid_gradient[] = {
    ONS_PAIR_CASES(0, 1, 1e-6),
    {.name = NULL},
};
