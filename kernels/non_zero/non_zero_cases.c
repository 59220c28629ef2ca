/* NonZero: cases for tests and benchmarks. */
#include "kernels/case.h"

#define KNOWN(...)                                                                                                     \
    { .dtype = ONS_INT64, .shape = ONS_DIMS(2, 3), .value_count = 6, .values = {__VA_ARGS__}, .constant = true }

const ons_case ons_cases_non_zero[] = {
    {.name = "some", .inputs = {KNOWN(0, 3, 0, -1, 0, 2)}},
    {.name = "none", .inputs = {KNOWN(0, 0, 0, 0, 0, 0)}},
    {.name = "float", .inputs = {ONS_F32_SCALAR(0.5)}},
    {.name = "from_data", .inputs = {ONS_F32(3)}, .error = "depends on data"},
    {.name = NULL},
};
