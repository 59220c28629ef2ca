/* OneHot: cases for tests and benchmarks. */
#include <math.h>

#include "kernels/case.h"

#define VALUES_OF(OFF, ON)                                                                                             \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = {1, {2}}, .value_count = 2, .values = { OFF, ON }                               \
    }

const ons_case ons_cases_one_hot[] = {
    {.name = "last", .inputs = {ONS_RANDOM(ONS_INT64, -5, 4, 3, 2), ONS_I64_SCALAR(5), VALUES_OF(0, 1)}},
    {.name = "first",
     .inputs = {ONS_RANDOM(ONS_INT64, 0, 4, 7), ONS_I64_SCALAR(5), VALUES_OF(-1, 2)},
     .settings = {ONS_SET_INT("axis", 0)}},
    {.name = "outside", .inputs = {ONS_RANDOM(ONS_INT32, 5, 9, 4), ONS_I64_SCALAR(5), VALUES_OF(0, 1)}},
    {.name = "float_indices", .inputs = {ONS_F32_IN(0, 5, 4), ONS_F32_SCALAR(5), VALUES_OF(0, 1)}},
    {.name = "odd_indices",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(5), .value_count = 5, .values = {NAN, INFINITY, -1.5, 2, -9}},
                ONS_I64_SCALAR(5),
                VALUES_OF(0, 1)}},
    {.name = "bytes", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 4, 4), ONS_I64_SCALAR(5), ONS_RANDOM(ONS_INT8, -9, 9, 2)}},
    {.name = "threads", .inputs = {ONS_RANDOM(ONS_INT64, 0, 64, 500), ONS_I64_SCALAR(65), VALUES_OF(0, 1)}},
    {.name = "no_depth",
     .inputs = {ONS_RANDOM(ONS_INT64, 0, 4, 4), ONS_I64_SCALAR(0), VALUES_OF(0, 1)},
     .error = "depth"},
    {.name = NULL},
};
