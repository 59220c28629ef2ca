/* Bernoulli: cases for tests and benchmarks. */
#include <math.h>

#include "kernels/case.h"

const ons_case ons_cases_bernoulli[] = {
    {.name = "matrix", .inputs = {ONS_F32_IN(0, 1, 5, 7)}, .flops = 700},
    {.name = "rank0", .inputs = {ONS_F32_IN(0, 1)}, .flops = 20},
    {.name = "edges",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(4), .value_count = 4, .values = {0, 1, NAN, 2}}},
     .settings = {ONS_SET_FLOAT("seed", 3)},
     .flops = 80,
     .no_gradient = true},
    {.name = "bool", .inputs = {ONS_F32_IN(0, 1, 37)}, .settings = {ONS_SET_INT("dtype", ONS_BOOL)}, .flops = 740},
    {.name = "double", .inputs = {ONS_RANDOM(ONS_FLOAT64, 0, 1, 37)}, .flops = 740},
    {.name = "threads", .inputs = {ONS_F32_IN(0, 1, 16, 33, 35)}, .flops = 369600},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = "text", .inputs = {ONS_F32(4)}, .settings = {ONS_SET_INT("dtype", ONS_STRING)}, .error = "element type"},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, 0, 1, 4)}, .error = "float"},
    {.name = "large", .inputs = {ONS_F32_IN(0, 1, 64, 64, 56, 56)}, .flops = 256901120, .benchmark = true},
    {.name = NULL},
};
