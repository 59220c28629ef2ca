/* Gather: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/gather/gather.h"

#define ALONG(AXIS) .settings = {ONS_SET_INT("axis", AXIS)}

const ons_case ons_cases_gather[] = {
    {.name = "embedding", .inputs = {ONS_F32(11, 5), ONS_RANDOM(ONS_INT64, 0, 10, 3, 4)}},
    {.name = "negative", .inputs = {ONS_F32(6, 3), ONS_RANDOM(ONS_INT64, -6, 5, 9)}},
    {.name = "int32", .inputs = {ONS_F32(6, 3), ONS_RANDOM(ONS_INT32, -6, 5, 2, 2)}},
    {.name = "columns", .inputs = {ONS_F32(4, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5)}, ALONG(-1)},
    {.name = "middle", .inputs = {ONS_F32(3, 5, 2), ONS_RANDOM(ONS_INT64, 0, 4, 2, 2)}, ALONG(1)},
    {.name = "one", .inputs = {ONS_F32(3, 5, 4), ONS_I64_SCALAR(-1)}, ALONG(1)},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 0)}},
    {.name = "threads", .inputs = {ONS_F32(65, 128), ONS_RANDOM(ONS_INT64, 0, 64, 8, 64)}},
    {.name = "of_shape", .inputs = {ONS_I64(4, 5, 6), ONS_I64_SCALAR(1)}},
    {.name = "outside", .inputs = {ONS_F32(3, 4), ONS_I64(0, 3)}, .error = "index 3"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {0, 3, 1}}},
     .fault = "an index"},
    {.name = "outside_at_many_places",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 5, 700)},
     .fault = "an index"},
    {.name = "float_index", .inputs = {ONS_F32(3, 4), ONS_F32(2)}, .error = "must be int64"},
    {.name = "large", .inputs = {ONS_F32(50257, 768), ONS_RANDOM(ONS_INT64, 0, 50256, 8, 1024)}, .benchmark = true},
    {.name = "small", .inputs = {ONS_F32(65, 128), ONS_RANDOM(ONS_INT64, 0, 64, 12, 64)}, .benchmark = true},
    {.name = "dlrm", .inputs = {ONS_F32(10000, 32), ONS_RANDOM(ONS_INT64, 0, 9999, 256)}, .benchmark = true},
    {.name = "pairs", .inputs = {ONS_F32(256, 289), ONS_RANDOM(ONS_INT64, 0, 288, 136)}, ALONG(1), .benchmark = true},
    {.name = NULL},
};
