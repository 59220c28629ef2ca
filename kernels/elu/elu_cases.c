/* Elu: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_elu[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    {.name = "alpha",
     .inputs = {ONS_F32(7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.3)},
     .tolerance = 2e-6,
     .flops = 63},
    {.name = NULL},
};
