/* Where: cases for tests and benchmarks. */
#include "kernels/case.h"

#define TRUTH(...) ONS_RANDOM(ONS_BOOL, 0, 1, ##__VA_ARGS__)

const ons_case ons_cases_where[] = {
    {.name = "same", .inputs = {TRUTH(5, 7), ONS_F32(5, 7), ONS_F32(5, 7)}, .flops = 35},
    {.name = "rank0", .inputs = {TRUTH(), ONS_F32(), ONS_F32()}, .flops = 1},
    {.name = "mask", .inputs = {TRUTH(1, 1, 9, 9), ONS_F32(2, 3, 9, 9), ONS_F32_SCALAR(-1e9)}, .flops = 486},
    {.name = "columns", .inputs = {TRUTH(5, 1), ONS_F32(35), ONS_F32(5, 35)}, .flops = 175},
    {.name = "left_column", .inputs = {TRUTH(5, 35), ONS_F32(5, 1), ONS_F32(35)}, .flops = 175},
    {.name = "condition_alone", .inputs = {TRUTH(5, 7), ONS_F32(), ONS_F32(5, 1)}, .flops = 35},
    {.name = "strided", .inputs = {TRUTH(4, 1, 5), ONS_F32(3, 1), ONS_F32(2, 1, 1, 1)}, .flops = 120},
    {.name = "threads", .inputs = {TRUTH(35, 1), ONS_F32(33, 35, 49), ONS_F32(49)}, .flops = 56595},
    {.name = "int64", .inputs = {TRUTH(5, 7), ONS_RANDOM(ONS_INT64, -9, 9, 5, 7), ONS_I64_SCALAR(0)}, .flops = 35},
    {.name = "int32",
     .inputs = {TRUTH(5, 7), ONS_RANDOM(ONS_INT32, -9, 9, 7), ONS_RANDOM(ONS_INT32, -9, 9, 5, 1)},
     .flops = 35},
    {.name = "bool", .inputs = {TRUTH(5, 7), TRUTH(5, 7), TRUTH(7)}, .flops = 35},
    {.name = "empty", .inputs = {TRUTH(0, 4), ONS_F32(4), ONS_F32()}, .flops = 0},
    {.name = "mask_large",
     .inputs = {TRUTH(256, 256), ONS_F32(32, 8, 256, 256), ONS_F32_SCALAR(-1e9)},
     .flops = 16777216,
     .benchmark = true},
    {.name = "misfit", .inputs = {TRUTH(2), ONS_F32(3), ONS_F32()}, .error = "broadcast"},
    {.name = "types", .inputs = {TRUTH(2), ONS_F32(2), ONS_I64(1, 2)}, .error = "choose"},
    {.name = "condition", .inputs = {ONS_F32(2), ONS_F32(2), ONS_F32(2)}, .error = "bool is needed"},
    {.name = NULL},
};
