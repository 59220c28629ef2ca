/* Not: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_not[] = {
    {.name = "matrix", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 5, 7)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1)}, .flops = 1},
    {.name = "threads", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 3, 16, 33, 35)}, .flops = 55440},
    {.name = "empty", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 0, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 16, 1024, 1024)}, .flops = 16777216, .benchmark = true},
    {.name = "float", .inputs = {ONS_F32(3)}, .error = "bool is needed"},
    {.name = NULL},
};
