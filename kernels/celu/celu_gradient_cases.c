/* CeluGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_celu_gradient[] = {
    ONS_PAIR_CASES(-0.9, 2, 2e-6),
    {.name = "alpha",
     .inputs = {ONS_F32(7, 9), ONS_F32_IN(-0.29, 1, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.3)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};
