/* HardSigmoid: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_hard_sigmoid[] = {
    ONS_UNARY_CASES(-4, 4, 2e-6),
    {.name = "sixths",
     .inputs = {ONS_F32_IN(-4, 4, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 1.0 / 6)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};
