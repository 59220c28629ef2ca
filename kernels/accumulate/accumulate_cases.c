/* Accumulate: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_accumulate[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "threads", .inputs = {ONS_F32(9, 5003), ONS_F32(9, 5003)}, .tolerance = 1e-6, .flops = 45027},
    {.name = "low_summand",
     .inputs = {ONS_F32(9, 1003), ONS_RANDOM(ONS_BFLOAT16, -9, 9, 9, 1003)},
     .tolerance = 1e-6,
     .flops = 9027},
    {.name = "low_sum",
     .inputs = {ONS_RANDOM(ONS_BFLOAT16, -9, 9, 5, 7), ONS_F32(5, 7)},
     .error = "the summand of a half type"},
    {.name = "large",
     .inputs = {ONS_F32(2048, 2048), ONS_F32(2048, 2048)},
     .tolerance = 1e-6,
     .flops = 4194304,
     .benchmark = true},
    {.name = NULL},
};
