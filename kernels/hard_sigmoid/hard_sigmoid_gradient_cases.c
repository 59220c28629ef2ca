/* HardSigmoidGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_hard_sigmoid_gradient[] = {
    ONS_PAIR_CASES(-0.2, 1.2, 2e-6),
    {.name = "sixths",
     .inputs = {ONS_F32(7, 9), ONS_F32_IN(-0.2, 1.2, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 1.0 / 6)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};
