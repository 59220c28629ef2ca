/* TopK: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/top_k/top_k_node.h"

#include <math.h>

#define GIVEN(DTYPE, COUNT, ...)                                                                                       \
    {                                                                                                                  \
        .dtype = (DTYPE), .shape = ONS_DIMS(COUNT), .value_count = (COUNT), .values = { __VA_ARGS__ }                  \
    }

#define SMALLEST(AXIS) .settings = {ONS_SET_INT("largest", 0), ONS_SET_INT("axis", AXIS)}

const ons_case ons_cases_top_k[] = {
    {.name = "last", .inputs = {ONS_F32(4, 9), ONS_I64(3)}, .outputs = 2, .flops = 36},
    {.name = "first", .inputs = {ONS_F32(9, 5), ONS_I64(4)}, SMALLEST(0), .outputs = 2, .flops = 45},
    {.name = "middle",
     .inputs = {ONS_F32(2, 70, 3), ONS_I64(5)},
     .settings = {ONS_SET_INT("axis", -2)},
     .outputs = 2,
     .flops = 420},
    {.name = "unsorted",
     .inputs = {ONS_F32(4, 9), ONS_I64(3)},
     .settings = {ONS_SET_INT("sorted", 0)},
     .outputs = 2,
     .flops = 36},
    {.name = "values_alone", .inputs = {ONS_F32(4, 9), ONS_I64(2)}, .flops = 36},
    {.name = "all", .inputs = {ONS_F32(3, 200), ONS_I64(200)}, .outputs = 2, .flops = 600},
    {.name = "all_smallest",
     .inputs = {ONS_F32_IN(-9, 9, 2, 300), ONS_I64(150)},
     SMALLEST(1),
     .outputs = 2,
     .flops = 600},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_I64(0)}, .outputs = 2, .flops = 12},
    {.name = "ties",
     .inputs = {GIVEN(ONS_FLOAT32, 8, 1, 2, 2, 0.0, -0.0, 2, -1, 1), ONS_I64(6)},
     .outputs = 2,
     .flops = 8,
     .no_gradient = true},
    {.name = "not_numbers",
     .inputs = {GIVEN(ONS_FLOAT32, 6, 1, NAN, INFINITY, -INFINITY, NAN, 3), ONS_I64(4)},
     .outputs = 2,
     .flops = 6,
     .no_gradient = true},
    {.name = "smallest_not_numbers",
     .inputs = {GIVEN(ONS_FLOAT32, 6, 1, NAN, INFINITY, -INFINITY, NAN, 3), ONS_I64(5)},
     SMALLEST(0),
     .outputs = 2,
     .flops = 6,
     .no_gradient = true},
    {.name = "int64", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3, 8), ONS_I64(3)}, .outputs = 2, .flops = 24},
    {.name = "uint64", .inputs = {GIVEN(ONS_UINT64, 4, 1, 9, 3, 0), ONS_I64(3)}, .outputs = 2, .flops = 4},
    {.name = "half",
     .inputs = {ONS_RANDOM(ONS_FLOAT16, -2, 2, 3, 8), ONS_I64(3)},
     .outputs = 2,
     .flops = 24,
     .no_gradient = true},
    {.name = "threads", .inputs = {ONS_F32(300, 65), ONS_I64(7)}, .outputs = 2, .flops = 19500},
    {.name = "threads_long", .inputs = {ONS_F32(9, 2000), ONS_I64(100)}, .outputs = 2, .flops = 18000},
    {.name = "too_many", .inputs = {ONS_F32(3, 4), ONS_I64(5)}, .error = "from 0 to the 4"},
    {.name = "scalar", .inputs = {ONS_F32(), ONS_I64(1)}, .error = "axis"},
    {.name = "unknown_k", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 1, 2, 1)}, .error = "depends on data"},
    {.name = "experts", .inputs = {ONS_F32(16384, 64), ONS_I64(2)}, .outputs = 2, .flops = 1048576, .benchmark = true},
    {.name = "vocabulary",
     .inputs = {ONS_F32(64, 50257), ONS_I64(50)},
     .outputs = 2,
     .flops = 3216448,
     .benchmark = true},
    {.name = NULL},
};
