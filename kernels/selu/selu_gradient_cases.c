/* SeluGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_selu_gradient[] = {
    ONS_PAIR_CASES(-1.5, 3, 2e-6),
    {.name = "other",
     .inputs = {ONS_F32(7, 9), ONS_F32_IN(-1.4, 2, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.7), ONS_SET_FLOAT("gamma", 2.0)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};
