/* BiasAdd: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_microsoft_bias_add[] = {
    {.name = "tensor", .inputs = {ONS_F32(2, 3, 5), ONS_F32(5), ONS_F32(2, 3, 5)}, .flops = 30},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4), ONS_F32(4), ONS_F32(0, 3, 4)}, .flops = 0},
    {.name = "misfit", .inputs = {ONS_F32(3, 5), ONS_F32(3), ONS_F32(3, 5)}, .error = "broadcast"},
    {.name = "larger_skip", .inputs = {ONS_F32(3, 5), ONS_F32(5), ONS_F32(2, 3, 5)}, .error = "fit"},
    {.name = NULL},
};
