/* FastGelu: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_microsoft_fast_gelu[] = {
    {.name = "matrix", .inputs = {ONS_F32_IN(-3, 3, 5, 7)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32()}, .flops = 1},
    {.name = "empty", .inputs = {ONS_F32(0, 3)}, .flops = 0},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, 0, 3, 4)}, .error = "float"},
    {.name = "bias", .inputs = {ONS_F32_IN(-3, 3, 2, 5, 7), ONS_F32(7)}, .flops = 70},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(5)}, .error = "bias"},
    {.name = "number", .inputs = {ONS_F32(), ONS_F32(1)}, .error = "bias"},
    {.name = NULL},
};
