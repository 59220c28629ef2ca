/* Gelu: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_microsoft_gelu[] = {
    {.name = "matrix", .inputs = {ONS_F32_IN(-3, 3, 5, 7)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32()}, .flops = 1},
    {.name = "empty", .inputs = {ONS_F32(0, 3)}, .flops = 0},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, 0, 3, 4)}, .error = "float"},
    {.name = NULL},
};
