/* Scatter: cases for tests and benchmarks. */
#include "kernels/case.h"

#define KNOWN_ROWS                                                                                                     \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(2, 3), .value_count = 6, .values = { 1, 0, 2, 0, 2, 1 }                  \
    }

const ons_case ons_cases_scatter[] = {
    {.name = "rows", .inputs = {ONS_F32(3, 3), KNOWN_ROWS, ONS_F32(2, 3)}},
    {.name = "columns", .inputs = {ONS_F32(2, 5), KNOWN_ROWS, ONS_F32(2, 3)}, .settings = {ONS_SET_INT("axis", -1)}},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_I64(1), ONS_F32(2)}, .error = "do not fit"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 2), .value_count = 2, .values = {0, -4}},
                ONS_F32(1, 2)},
     .flops = -1,
     .fault = "index"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 2), .value_count = 2, .values = {0, -4}},
                ONS_RANDOM(ONS_FLOAT64, -1, 1, 1, 2)},
     .flops = -1,
     .fault = "index"},
    {.name = NULL},
};
