/* LogSoftmax: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

const ons_case ons_cases_log_softmax[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7)}, .tolerance = 2e-6, .flops = 175},
    {.name = "long_rows", .inputs = {ONS_F32_IN(-20, 20, 3, 333)}, .tolerance = 1e-5, .flops = 4995},
    {.name = "axis_1",
     .inputs = {ONS_F32(2, 5, 3, 29)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 2e-6,
     .flops = 4350},
    {.name = "axis_from_end",
     .inputs = {ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("axis", -3)},
     .tolerance = 2e-6,
     .flops = 120},
    {.name = "flatten",
     .inputs = {ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("onstage_flatten", 1)},
     .tolerance = 2e-6,
     .flops = 120},
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 2e-6, .flops = 5},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = "all_negative", .inputs = {ONS_F32_IN(-200, -100, 3, 20)}, .tolerance = 1e-5, .flops = 300},
    {.name = "vocabulary",
     .inputs = {ONS_F32_IN(-4, 4, 128, 10000)},
     .tolerance = 1e-5,
     .flops = 6400000,
     .benchmark = true},
    {.name = NULL},
};
