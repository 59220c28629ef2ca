/* RandomUniform: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_random_uniform[] = {
    {.name = "matrix", .settings = {ONS_SET_INTS("shape", 5, 7)}, .tolerance = 1e-5, .flops = 700},
    {.name = "range",
     .settings = {ONS_SET_INTS("shape", 3, 300), ONS_SET_FLOAT("low", -3), ONS_SET_FLOAT("high", 0.5)},
     .tolerance = 1e-5,
     .flops = 18000},
    {.name = "seed",
     .settings = {ONS_SET_INTS("shape", 9), ONS_SET_FLOAT("seed", 4.5)},
     .tolerance = 1e-5,
     .flops = 180},
    {.name = "double", .settings = {ONS_SET_INTS("shape", 9), ONS_SET_INT("dtype", ONS_FLOAT64)}, .flops = 180},
    {.name = "half",
     .settings = {ONS_SET_INTS("shape", 9), ONS_SET_INT("dtype", ONS_FLOAT16)},
     .tolerance = 1e-3,
     .flops = 180},
    {.name = "threads", .settings = {ONS_SET_INTS("shape", 16, 33, 35)}, .tolerance = 1e-5, .flops = 369600},
    {.name = "empty", .settings = {ONS_SET_INTS("shape", 0, 4)}, .flops = 0},
    {.name = "integers", .settings = {ONS_SET_INTS("shape", 4), ONS_SET_INT("dtype", ONS_INT64)}, .error = "float"},
    {.name = "negative", .settings = {ONS_SET_INTS("shape", 4, -1)}, .error = "dimension 1"},
    {.name = "large",
     .settings = {ONS_SET_INTS("shape", 64, 64, 56, 56)},
     .tolerance = 1e-5,
     .flops = 256901120,
     .benchmark = true},
    {.name = NULL},
};
