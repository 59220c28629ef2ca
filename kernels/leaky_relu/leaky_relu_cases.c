/* LeakyRelu: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_leaky_relu[] = {
    ONS_UNARY_CASES(-1, 1, 1e-6),
    {.name = "alpha",
     .inputs = {ONS_F32(7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.3)},
     .tolerance = 1e-6,
     .flops = 63},
    {.name = NULL},
};
