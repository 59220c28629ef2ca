/* BitwiseNot: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_bitwise_not[] = {
    {.name = "int32", .inputs = {ONS_RANDOM(ONS_INT32, -99, 99, 5, 7)}, .flops = 35},
    {.name = "int64", .inputs = {ONS_RANDOM(ONS_INT64, -99, 99, 3, 16, 33, 35)}, .flops = 55440},
    {.name = "uint8", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 37)}, .flops = 37},
    {.name = "uint16", .inputs = {ONS_RANDOM(ONS_UINT16, 0, 65535, 37)}, .flops = 37},
    {.name = "uint64", .inputs = {ONS_RANDOM(ONS_UINT64, 0, 99, 37)}, .flops = 37},
    {.name = "rank0", .inputs = {ONS_RANDOM(ONS_INT8, -99, 99)}, .flops = 1},
    {.name = "empty", .inputs = {ONS_RANDOM(ONS_INT32, -99, 99, 0, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_RANDOM(ONS_INT32, -99, 99, 4096, 1024)}, .flops = 4194304, .benchmark = true},
    {.name = "float", .inputs = {ONS_F32(3)}, .error = "integer type is needed"},
    {.name = NULL},
};
