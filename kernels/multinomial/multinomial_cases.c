/* Multinomial: cases for tests and benchmarks. */
#include <math.h>

#include "kernels/case.h"

const ons_case ons_cases_multinomial[] = {
    {.name = "one", .inputs = {ONS_F32_IN(-2, 2, 5, 7)}, .flops = 70},
    {.name = "many",
     .inputs = {ONS_F32_IN(-2, 2, 2, 3)},
     .settings = {ONS_SET_INT("sample_size", 50), ONS_SET_INT("dtype", ONS_INT64), ONS_SET_FLOAT("seed", 2)},
     .flops = 306},
    {.name = "sure",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(1, 3), .value_count = 3, .values = {-INFINITY, 0, -INFINITY}}},
     .flops = 6},
    {.name = "empty", .inputs = {ONS_F32(0, 3)}, .flops = 0},
    {.name = "no_classes", .inputs = {ONS_F32(2, 0)}, .error = "0 classes"},
    {.name = "rank", .inputs = {ONS_F32(2)}, .error = "classes"},
    {.name = "dtype", .inputs = {ONS_F32(2, 3)}, .settings = {ONS_SET_INT("dtype", 1)}, .error = "int32"},
    {.name = NULL},
};
