/* DropoutMask: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_dropout_mask[] = {
    {.name = "matrix", .settings = {ONS_SET_INTS("shape", 5, 7)}, .flops = 35},
    {.name = "tenth", .settings = {ONS_SET_INTS("shape", 300), ONS_SET_FLOAT("ratio", 0.1)}, .flops = 300},
    {.name = "threads", .settings = {ONS_SET_INTS("shape", 3, 16, 33, 35)}, .flops = 55440},
    {.name = "empty", .settings = {ONS_SET_INTS("shape", 0, 3)}, .flops = 0},
    {.name = "ratio", .settings = {ONS_SET_INTS("shape", 3), ONS_SET_FLOAT("ratio", 2)}, .error = "ratio"},
    {.name = NULL},
};
