/* MishGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_mish_gradient[] = {
    ONS_PAIR_CASES(-6, 6, 2e-6),
    {.name = "far", .inputs = {ONS_F32(7, 9), ONS_F32_IN(-80, 80, 7, 9)}, .tolerance = 2e-6, .flops = 63},
    {.name = NULL},
};
