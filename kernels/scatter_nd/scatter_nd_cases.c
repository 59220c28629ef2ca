/* ScatterND: cases for tests and benchmarks. */
#include "kernels/case.h"

#define TUPLES(ROWS, ...)                                                                                              \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(ROWS, 2), .value_count = 2 * (ROWS), .values = { __VA_ARGS__ }           \
    }

const ons_case ons_cases_scatter_nd[] = {
    {.name = "elements", .inputs = {ONS_F32(3, 4), TUPLES(3, 0, 1, 2, -1, 1, 0), ONS_F32(3)}},
    {.name = "slices", .inputs = {ONS_F32(3, 4, 5), TUPLES(2, 0, 1, 2, 3), ONS_F32(2, 5)}},
    {.name = "add",
     .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, 0, 3, 7, 1), ONS_F32(7, 5)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .tolerance = 1e-6},
    {.name = "max",
     .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, 0, 3, 7, 1), ONS_F32(7, 5)},
     .settings = {ONS_SET_STRING("reduction", "max")}},
    {.name = "min",
     .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, -4, 3, 7, 2), ONS_F32(7)},
     .settings = {ONS_SET_STRING("reduction", "min")}},
    {.name = "mul",
     .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, 0, 3, 7, 1), ONS_F32(7, 5)},
     .settings = {ONS_SET_STRING("reduction", "mul")},
     .tolerance = 1e-6},
    {.name = "threads",
     .inputs = {ONS_F32(9, 3000), ONS_RANDOM(ONS_INT64, 0, 8, 20, 1), ONS_F32(20, 3000)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .tolerance = 1e-6,
     .no_gradient = true},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 0, 1), ONS_F32(0, 4)}},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3, 1), ONS_RANDOM(ONS_INT64, -9, 9, 3)}},
    {.name = "misfit", .inputs = {ONS_F32(3, 4), TUPLES(2, 0, 1, 2, 3), ONS_F32(3)}, .error = "do not fit"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1), .value_count = 2, .values = {0, 3}},
                ONS_F32(2, 4)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .flops = -1,
     .fault = "index"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1), .value_count = 2, .values = {0, 3}},
                ONS_RANDOM(ONS_FLOAT64, -1, 1, 2, 4)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .flops = -1,
     .fault = "index"},
    {.name = NULL},
};
