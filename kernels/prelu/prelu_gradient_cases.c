/* PReluGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_prelu_gradient[] = {
    {.name = "same", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "channels",
     .inputs = {ONS_F32(2, 3, 5, 7), ONS_F32(2, 3, 5, 7), ONS_F32(3, 1, 1)},
     .tolerance = 1e-6,
     .flops = 210},
    {.name = "row", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "one_column", .inputs = {ONS_F32(5, 1), ONS_F32(5, 1), ONS_F32(1)}, .tolerance = 1e-6, .flops = 5},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "zeros",
     .inputs = {ONS_F32(5, 7),
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(5, 7), .value_count = 3, .values = {0, 1, -1}},
                ONS_F32(7)},
     .tolerance = 1e-6,
     .flops = 35},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4), ONS_F32(4)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32(64, 64, 56, 56), ONS_F32(64, 1, 1)},
     .tolerance = 1e-6,
     .flops = 12845056,
     .benchmark = true},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(7), ONS_F32(7)}, .error = "differ"},
    {.name = NULL},
};
