/* PRelu: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_prelu[] = {
    {.name = "same", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "channels", .inputs = {ONS_F32(2, 3, 5, 7), ONS_F32(3, 1, 1)}, .tolerance = 1e-6, .flops = 210},
    {.name = "one", .inputs = {ONS_F32(2, 3, 5, 7), ONS_F32(1)}, .tolerance = 1e-6, .flops = 210},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "int64", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 9), ONS_I64_SCALAR(2)}, .flops = 9, .no_gradient = true},
    ONS_UINT64_CASE,
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(4)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32(64, 1, 1)},
     .tolerance = 1e-6,
     .flops = 12845056,
     .benchmark = true},
    {.name = "large_slope", .inputs = {ONS_F32(3), ONS_F32(2, 3)}, .error = "slope"},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_F32(4)}, .error = "broadcast"},
    {.name = NULL},
};
