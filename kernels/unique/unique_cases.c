/* Unique: cases for tests and benchmarks. */
#include <math.h>

#include "kernels/case.h"

#define KNOWN(DTYPE, COUNT, DIMS, ...)                                                                                 \
    { .dtype = (DTYPE), .shape = DIMS, .value_count = (COUNT), .values = {__VA_ARGS__}, .constant = true }

#define SIX(...) KNOWN(ONS_FLOAT32, 6, ONS_DIMS(6), __VA_ARGS__)

const ons_case ons_cases_unique[] = {
    {.name = "sorted", .inputs = {SIX(2, 1, 1, 3, 4, 3)}, .outputs = 4},
    {.name = "in_order", .inputs = {SIX(2, 1, 1, 3, 4, 3)}, .settings = {ONS_SET_INT("sorted", 0)}, .outputs = 4},
    {.name = "not_numbers", .inputs = {SIX(2, NAN, 1, NAN, 0.0, -0.0)}, .outputs = 4},
    {.name = "rows",
     .inputs = {KNOWN(ONS_INT64, 9, ONS_DIMS(3, 3), 1, 0, 0, 1, 0, 0, 2, 3, 4)},
     .settings = {ONS_SET_INT("axis", 0)},
     .outputs = 4},
    {.name = "columns",
     .inputs = {KNOWN(ONS_INT32, 6, ONS_DIMS(2, 3), 5, 1, 5, 2, 1, 2)},
     .settings = {ONS_SET_INT("axis", -1), ONS_SET_INT("sorted", 0)},
     .outputs = 4},
    {.name = "values_alone", .inputs = {KNOWN(ONS_INT64, 4, ONS_DIMS(2, 2), 3, 3, 1, 3)}},
    {.name = "empty", .inputs = {KNOWN(ONS_INT64, 0, ONS_DIMS(0), 0)}, .outputs = 4},
    {.name = "from_data", .inputs = {ONS_F32(3)}, .error = "depends on data"},
    {.name = NULL},
};
