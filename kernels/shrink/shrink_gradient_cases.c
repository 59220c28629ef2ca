/* ShrinkGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_shrink_gradient[] = {
    ONS_PAIR_CASES(-3, 3, 0),
    {.name = "wide",
     .inputs = {ONS_F32(7, 9), ONS_F32_IN(-3, 3, 7, 9)},
     .settings = {ONS_SET_FLOAT("lambd", 1.5), ONS_SET_FLOAT("bias", 1.5)},
     .tolerance = 0,
     .flops = 63},

    {.name = NULL},
};
