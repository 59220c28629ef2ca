/* BiasGelu: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_microsoft_bias_gelu[] = {
    {.name = "bias", .inputs = {ONS_F32_IN(-3, 3, 2, 5, 7), ONS_F32(7)}, .flops = 70},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(5)}, .error = "bias"},
    {.name = "number", .inputs = {ONS_F32(), ONS_F32(1)}, .error = "bias"},
    {.name = NULL},
};
