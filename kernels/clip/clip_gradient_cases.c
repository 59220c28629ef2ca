/* ClipGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_clip_gradient[] = {
    {.name = "both",
     .inputs = {ONS_F32(5, 7), ONS_F32_IN(-3, 9, 5, 7), ONS_F32_SCALAR(0), ONS_F32_SCALAR(6)},
     .flops = 35},
    {.name = "low", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32_SCALAR(0)}, .flops = 35},
    {.name = "high", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_LEFT_OUT, ONS_F32_SCALAR(0.5)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32(), ONS_F32_SCALAR(0)}, .flops = 1},
    {.name = "bounds",
     .inputs = {ONS_F32(4),
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(4), .value_count = 4, .values = {0, 6, 7, -1}},
                ONS_F32_SCALAR(0),
                ONS_F32_SCALAR(6)},
     .flops = 4},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4), ONS_F32_SCALAR(0)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32_IN(-3, 9, 64, 64, 56, 56), ONS_F32_SCALAR(0), ONS_F32_SCALAR(6)},
     .flops = 12845056,
     .benchmark = true},
    {.name = NULL},
};
