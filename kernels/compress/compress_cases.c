/* Compress: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/compress/compress.h"

#define KNOWN(COUNT, ...)                                                                                              \
    { .dtype = ONS_BOOL, .shape = ONS_DIMS(COUNT), .value_count = (COUNT), .values = {__VA_ARGS__}, .constant = true }

#define ALONG(AXIS) .settings = {ONS_SET_INT("axis", AXIS)}

const ons_case ons_cases_compress[] = {
    {.name = "rows", .inputs = {ONS_F32(3, 2), KNOWN(3, 0, 1, 1)}, ALONG(0)},
    {.name = "columns", .inputs = {ONS_F32(3, 2), KNOWN(2, 0, 1)}, ALONG(-1)},
    {.name = "shorter", .inputs = {ONS_F32(2, 5, 3), KNOWN(4, 1, 0, 0, 1)}, ALONG(1)},
    {.name = "elements", .inputs = {ONS_F32(3, 2), KNOWN(5, 0, 1, 0, 0, 1)}},
    {.name = "none", .inputs = {ONS_F32(3, 2), KNOWN(2, 0, 0)}, ALONG(0), .no_gradient = true},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3, 2), KNOWN(3, 0, 1, 1)}, ALONG(0)},
    {.name = "from_data",
     .inputs = {ONS_F32(3, 2), ONS_RANDOM(ONS_BOOL, 0, 1, 3)},
     ALONG(0),
     .error = "depends on data"},
    {.name = "outside", .inputs = {ONS_F32(3, 2), KNOWN(4, 0, 1, 1, 1)}, ALONG(0), .error = "element 3 of 3"},
    {.name = NULL},
};
