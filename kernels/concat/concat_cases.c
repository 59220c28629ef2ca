/* Concat: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/concat/concat.h"

#define ALONG(AXIS) .settings = {ONS_SET_INT("axis", AXIS)}

const ons_case ons_cases_concat[] = {
    {.name = "rows", .inputs = {ONS_F32(2, 5), ONS_F32(3, 5)}, ALONG(0)},
    {.name = "columns", .inputs = {ONS_F32(4, 5), ONS_F32(4, 1), ONS_F32(4, 2)}, ALONG(-1)},
    {.name = "middle", .inputs = {ONS_F32(2, 3, 4), ONS_F32(2, 1, 4)}, ALONG(1)},
    {.name = "channels", .inputs = {ONS_F32(2, 3, 5, 4), ONS_F32(2, 16, 5, 4), ONS_F32(2, 1, 5, 4)}, ALONG(1)},
    {.name = "samples_of_channels", .inputs = {ONS_F32(1, 3, 4, 2), ONS_F32(2, 3, 4, 2)}, ALONG(0)},
    {.name = "rows_of_channels", .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(2, 3, 1, 5)}, ALONG(-2)},
    {.name = "volumes", .inputs = {ONS_F32(2, 3, 2, 3, 4), ONS_F32(2, 2, 2, 3, 4)}, ALONG(1)},
    {.name = "channels_threads", .inputs = {ONS_F32(4, 64, 14, 14), ONS_F32(4, 32, 14, 14)}, ALONG(1)},
    {.name = "single", .inputs = {ONS_F32(2, 3)}, ALONG(1)},
    {.name = "empty", .inputs = {ONS_F32(2, 0), ONS_F32(2, 3)}, ALONG(1)},
    {.name = "threads", .inputs = {ONS_F32(64, 300), ONS_F32(64, 77)}, ALONG(1)},
    {.name = "integers", .inputs = {ONS_I64(1, 2), ONS_I64(-1)}, ALONG(0)},
    {.name = "booleans", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 3, 3), ONS_RANDOM(ONS_BOOL, 0, 1, 3, 2)}, ALONG(1)},
    {.name = "misfit", .inputs = {ONS_F32(2, 3), ONS_F32(3, 3)}, ALONG(1), .error = "cannot follow"},
    {.name = "types", .inputs = {ONS_F32(2), ONS_I64(3)}, ALONG(0), .error = "cannot follow"},
    {.name = "large", .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32(64, 32, 56, 56)}, ALONG(1), .benchmark = true},
    {.name = NULL},
};
