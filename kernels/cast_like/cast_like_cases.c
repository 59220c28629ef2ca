/* CastLike: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_cast_like[] = {
    {.name = "float_double",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_FLOAT64, 0, 1, 2)},
     .tolerance = 1e-7,
     .flops = 35},
    {.name = "int64_float", .inputs = {ONS_RANDOM(ONS_INT64, -99, 99, 3, 16, 33, 35), ONS_F32()}, .flops = 55440},
    {.name = "float_int64", .inputs = {ONS_F32_IN(-99, 99, 35), ONS_RANDOM(ONS_INT64, 0, 1, 2)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_RANDOM(ONS_INT32, -99, 99), ONS_F32(3)}, .flops = 1},
    {.name = "empty", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 0, 3), ONS_F32(3)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_RANDOM(ONS_INT64, -1000, 1000, 4096, 1024), ONS_F32()},
     .flops = 4194304,
     .benchmark = true},
    {.name = NULL},
};
