/* StopGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_stop_gradient[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .flops = 0},
    {.name = "rank0", .inputs = {ONS_F32()}, .flops = 0},
    {.name = "int64", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5)}, .flops = 0},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = NULL},
};
