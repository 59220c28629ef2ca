/* ScatterElements: cases for tests and benchmarks. */
#include <math.h>

#include "kernels/case.h"

#define KNOWN_ROWS                                                                                                     \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(2, 3), .value_count = 6, .values = { 1, 0, 2, 0, 2, 1 }                  \
    }

#define REDUCED(NAME) .settings = {ONS_SET_STRING("reduction", NAME)}

/* The second and third of each are equal: they tie, as do some with the data. */
#define TIES(...)                                                                                                      \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(__VA_ARGS__), .value_count = 3, .values = { 0.5, 2, 2 }                \
    }

const ons_case ons_cases_scatter_elements[] = {
    {.name = "rows", .inputs = {ONS_F32(3, 3), KNOWN_ROWS, ONS_F32(2, 3)}},
    {.name = "columns", .inputs = {ONS_F32(2, 5), KNOWN_ROWS, ONS_F32(2, 3)}, .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "fewer",
     .inputs = {ONS_F32(3, 4, 5),
                {.dtype = ONS_INT32, .shape = ONS_DIMS(2, 2, 4), .value_count = 8, .values = {0, 1, -1, 2, 3, 0, 1, 1}},
                ONS_F32(2, 2, 4)},
     .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "add",
     .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, -5, 4, 6, 4), ONS_F32(6, 4)},
     REDUCED("add"),
     .tolerance = 1e-6},
    {.name = "mul",
     .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, 0, 4, 6, 4), ONS_F32(6, 4)},
     REDUCED("mul"),
     .tolerance = 1e-6},
    {.name = "mul_zeros",
     .inputs = {ONS_F32(3, 4),
                ONS_RANDOM(ONS_INT64, 0, 2, 6, 4),
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6, 4), .value_count = 5, .values = {0, 2, -3, 0.5, 1.5}}},
     REDUCED("mul"),
     .tolerance = 1e-6},
    {.name = "max", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT32, 0, 4, 6, 4), ONS_F32(6, 4)}, REDUCED("max")},
    {.name = "min", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT32, -5, 4, 6, 4), ONS_F32(6, 4)}, REDUCED("min")},
    {.name = "max_ties",
     .inputs = {TIES(3, 4), ONS_RANDOM(ONS_INT32, 0, 2, 6, 4), TIES(6, 4)},
     REDUCED("max"),
     .no_gradient = true},
    {.name = "min_nan",
     .inputs = {ONS_F32(3),
                ONS_RANDOM(ONS_INT32, 0, 2, 4),
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(4), .value_count = 4, .values = {0, NAN, 1, -3}}},
     REDUCED("min"),
     .no_gradient = true},
    {.name = "threads",
     .inputs = {ONS_F32(30, 40, 33), ONS_RANDOM(ONS_INT64, 0, 39, 30, 50, 33), ONS_F32(30, 50, 33)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_STRING("reduction", "add")},
     .tolerance = 1e-5,
     .no_gradient = true},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 0, 4), ONS_F32(0, 4)}},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3), ONS_RANDOM(ONS_INT64, -9, 9, 3)}},
    {.name = "integers_max",
     .inputs = {ONS_RANDOM(ONS_INT32, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 9), ONS_RANDOM(ONS_INT32, -9, 9, 9)},
     REDUCED("max")},
    {.name = "bytes_add",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 5), ONS_RANDOM(ONS_INT64, 0, 4, 9), ONS_RANDOM(ONS_UINT8, 0, 255, 9)},
     REDUCED("add")},
    {.name = "unknown", .inputs = {ONS_F32(3), ONS_I64(1), ONS_F32(1)}, REDUCED("mean"), .error = "unknown reduction"},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_I64(1), ONS_F32(2)}, .error = "do not fit"},
    {.name = "outside", .inputs = {ONS_F32(3), ONS_I64(-4), ONS_F32(1)}, .error = "index -4"},
    {.name = "large",
     .inputs = {ONS_F32(64, 256, 196), ONS_RANDOM(ONS_INT64, 0, 255, 64, 64, 196), ONS_F32(64, 64, 196)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_STRING("reduction", "add")},
     .benchmark = true},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 2), .value_count = 2, .values = {0, -4}},
                ONS_F32(1, 2)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .flops = -1,
     .fault = "index"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 2), .value_count = 2, .values = {0, -4}},
                ONS_RANDOM(ONS_FLOAT64, -1, 1, 1, 2)},
     .settings = {ONS_SET_STRING("reduction", "add")},
     .flops = -1,
     .fault = "index"},
    {.name = NULL},
};
