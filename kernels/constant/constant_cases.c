/* Constant: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_constant[] = {
    {.name = "float", .settings = {ONS_SET_FLOAT("value_float", 2.5)}, .flops = 0},
    {.name = "int", .settings = {ONS_SET_INT("value_int", -7)}, .flops = 0},
    {.name = "ints", .settings = {ONS_SET_INTS("value_ints", 3, -1, 4)}, .flops = 0},
    {.name = NULL},
};
