/* RandomNormalLike: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_random_normal_like[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-5, .flops = 700},
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 1e-5, .flops = 20},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 5, 7)},
     .settings = {ONS_SET_INT("dtype", ONS_FLOAT32), ONS_SET_FLOAT("seed", 1)},
     .tolerance = 1e-5,
     .flops = 700},
    {.name = "half", .inputs = {ONS_RANDOM(ONS_FLOAT16, -1, 1, 9)}, .tolerance = 1e-3, .flops = 180},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = "no_dtype", .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 5)}, .error = "float"},
    {.name = NULL},
};
