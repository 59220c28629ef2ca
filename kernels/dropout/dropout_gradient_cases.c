/* DropoutGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_dropout_gradient[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_BOOL, 0, 1, 5, 7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "tenth",
     .inputs = {ONS_F32(37), ONS_RANDOM(ONS_BOOL, 0, 1, 37)},
     .settings = {ONS_SET_FLOAT("ratio", 0.1)},
     .tolerance = 1e-6,
     .flops = 37},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_RANDOM(ONS_BOOL, 0, 1)}, .tolerance = 1e-6, .flops = 1},
    {.name = "threads",
     .inputs = {ONS_F32(3, 16, 33, 35), ONS_RANDOM(ONS_BOOL, 0, 1, 3, 16, 33, 35)},
     .tolerance = 1e-6,
     .flops = 55440},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_RANDOM(ONS_BOOL, 0, 1, 0, 4)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 128, 1024), ONS_RANDOM(ONS_BOOL, 0, 1, 64, 128, 1024)},
     .tolerance = 1e-6,
     .flops = 8388608,
     .benchmark = true},
    {.name = NULL},
};
