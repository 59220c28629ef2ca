/* ReluGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_relu_gradient[] = {
    ONS_PAIR_CASES(-1, 1, 0),
    {.name = NULL},
};
