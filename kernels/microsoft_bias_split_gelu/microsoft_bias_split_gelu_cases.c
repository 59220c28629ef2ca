/* BiasSplitGelu: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_microsoft_bias_split_gelu[] = {
    {.name = "tensor", .inputs = {ONS_F32(2, 3, 10), ONS_F32(10)}, .flops = 30},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4), ONS_F32(4)}, .flops = 0},
    {.name = "odd", .inputs = {ONS_F32(2, 3, 7), ONS_F32(7)}, .error = "odd"},
    {.name = NULL},
};
