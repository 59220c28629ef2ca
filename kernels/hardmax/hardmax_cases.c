/* Hardmax: cases for tests and benchmarks. */
#include <math.h>

#include "kernels/case.h"

const ons_case ons_cases_hardmax[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7)}, .flops = 35},
    {.name = "axis_1", .inputs = {ONS_F32(2, 5, 3, 29)}, .settings = {ONS_SET_INT("axis", 1)}, .flops = 870},
    {.name = "axis_0", .inputs = {ONS_F32(3, 70)}, .settings = {ONS_SET_INT("axis", 0)}, .flops = 210},
    {.name = "axis_from_end", .inputs = {ONS_F32(2, 3, 4)}, .settings = {ONS_SET_INT("axis", -2)}, .flops = 24},
    {.name = "flatten",
     .inputs = {ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("onstage_flatten", 1)},
     .flops = 24},
    {.name = "equal",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 4), .value_count = 4, .values = {1, 3, 3, -2}}},
     .flops = 12},
    {.name = "edges",
     .inputs = {{.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(2, 4),
                 .value_count = 8,
                 .values = {1, NAN, 3, NAN, -INFINITY, -INFINITY, -INFINITY, -INFINITY}}},
     .flops = 8},
    {.name = "double", .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 5)}, .flops = 15},
    {.name = "rank0", .inputs = {ONS_F32()}, .flops = 1},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = "no_such_axis", .inputs = {ONS_F32(2, 3)}, .settings = {ONS_SET_INT("axis", 2)}, .error = "axis 2"},
    {.name = "integer", .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 3)}, .error = "float"},
    {.name = "large", .inputs = {ONS_F32(4096, 1000)}, .flops = 4096000, .benchmark = true},
    {.name = NULL},
};
