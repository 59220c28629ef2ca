/* SwishGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_swish_gradient[] = {
    ONS_PAIR_CASES(-6, 6, 2e-6),
    {.name = "alpha",
     .inputs = {ONS_F32(7, 9), ONS_F32_IN(-9, 9, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 1.702)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};
