/* ChannelSum: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_channel_sum[] = {
    {.name = "plane", .inputs = {ONS_F32(2, 5, 3, 4)}, .tolerance = 1e-6, .flops = 120},
    {.name = "matrix", .inputs = {ONS_F32(9, 6)}, .tolerance = 1e-6, .flops = 54},
    {.name = "one_dim", .inputs = {ONS_F32(3, 4, 7)}, .tolerance = 1e-6, .flops = 84},
    {.name = "threads", .inputs = {ONS_F32(4, 33, 17, 19)}, .tolerance = 1e-5, .flops = 42636},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(16, 64, 56, 56)}, .tolerance = 1e-5, .flops = 3211264, .benchmark = true},
    {.name = "vector", .inputs = {ONS_F32(3)}, .error = "channels"},
    {.name = NULL},
};
