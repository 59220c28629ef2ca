/* Celu: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_celu[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    {.name = "alpha",
     .inputs = {ONS_F32_IN(-3, 3, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.3)},
     .tolerance = 2e-6,
     .flops = 63},
    {.name = "no_alpha", .inputs = {ONS_F32(3)}, .settings = {ONS_SET_FLOAT("alpha", 0)}, .error = "alpha"},
    {.name = NULL},
};
