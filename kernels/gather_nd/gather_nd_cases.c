/* GatherND: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

const ons_case ons_cases_gather_nd[] = {
    {.name = "elements", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, -3, 2, 5, 2)}},
    {.name = "slices", .inputs = {ONS_F32(3, 3, 5), ONS_RANDOM(ONS_INT64, 0, 2, 2, 4, 1)}},
    {.name = "batches",
     .inputs = {ONS_F32(2, 3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 2, 5, 1)},
     .settings = {ONS_SET_INT("batch_dims", 1)}},
    {.name = "two_batches",
     .inputs = {ONS_F32(2, 3, 4, 2), ONS_RANDOM(ONS_INT32, -4, 3, 2, 3, 1)},
     .settings = {ONS_SET_INT("batch_dims", 2)}},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 0, 1)}},
    {.name = "threads", .inputs = {ONS_F32(20, 90), ONS_RANDOM(ONS_INT32, 0, 19, 300, 1)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, 0, 4, 3, 1)}},
    {.name = "too_deep", .inputs = {ONS_F32(3), ONS_RANDOM(ONS_INT64, 0, 2, 5, 2)}, .error = "tuples"},
    {.name = "batches_differ",
     .inputs = {ONS_F32(2, 3), ONS_RANDOM(ONS_INT64, 0, 2, 3, 1)},
     .settings = {ONS_SET_INT("batch_dims", 1)},
     .error = "batch"},
    {.name = "outside", .inputs = {ONS_F32(3), ONS_I64(3)}, .error = "index 3"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1), .value_count = 2, .values = {0, 3}}},
     .flops = -1,
     .fault = "index"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(2, 1), .value_count = 2, .values = {0, 3}}},
     .flops = -1,
     .fault = "index"},
    {.name = NULL},
};
