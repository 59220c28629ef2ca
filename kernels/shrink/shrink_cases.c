/* Shrink: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_shrink[] = {
    ONS_UNARY_CASES(-3, 3, 1e-6),
    {.name = "soft",
     .inputs = {ONS_F32_IN(-3, 3, 7, 9)},
     .settings = {ONS_SET_FLOAT("lambd", 1.5), ONS_SET_FLOAT("bias", 1.5)},
     .tolerance = 2e-6,
     .flops = 63},
    {.name = "int8",
     .inputs = {ONS_RANDOM(ONS_INT8, -9, 9, 37)},
     .settings = {ONS_SET_FLOAT("lambd", 3), ONS_SET_FLOAT("bias", 1)},
     .flops = 37,
     .no_gradient = true},
    {.name = "uint8",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 37)},
     .settings = {ONS_SET_FLOAT("lambd", 3)},
     .flops = 37,
     .no_gradient = true},
    {.name = NULL},
};
