/* Det: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_det[] = {
    {.name = "matrix", .inputs = {ONS_F32(3, 3)}, .tolerance = 1e-6, .flops = 18},
    {.name = "batch", .inputs = {ONS_F32(2, 3, 4, 4)}, .tolerance = 1e-6, .flops = 256},
    {.name = "larger", .inputs = {ONS_F32(2, 9, 9)}, .tolerance = 1e-5, .flops = 972},
    {.name = "number", .inputs = {ONS_F32(5, 1, 1)}, .tolerance = 1e-6, .flops = -1},
    {.name = "singular",
     .inputs =
         {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 3), .value_count = 9, .values = {1, 2, 3, 2, 4, 6, 0, 1, 5}}},
     .tolerance = 1e-6,
     .flops = 18},
    {.name = "zero_matrix",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 3), .value_count = 1, .values = {0}}},
     .tolerance = 1e-6,
     .flops = 18},
    {.name = "double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 3)},
     .tolerance = 1e-6,
     .flops = 18,
     .no_gradient = true},
    {.name = "no_rows", .inputs = {ONS_F32(2, 0, 0)}, .flops = 0},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 3)}, .flops = 0},
    {.name = "oblong", .inputs = {ONS_F32(3, 4)}, .error = "square"},
    {.name = "vector", .inputs = {ONS_F32(3)}, .error = "square"},
    {.name = "integer", .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 3, 3)}, .error = "float"},
    {.name = "large", .inputs = {ONS_F32(64, 32, 32)}, .tolerance = 1e-3, .flops = -1, .benchmark = true},
    {.name = NULL},
};
