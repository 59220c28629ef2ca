/* GatherShard: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/gather/gather.h"

#define SHARD(AXIS, FIRST, ENTRIES)                                                                                    \
    .settings = {ONS_SET_INT("axis", AXIS), ONS_SET_INT("first", FIRST), ONS_SET_INT("entries", ENTRIES)}

const ons_case ons_cases_gather_shard[] = {
    {.name = "first_rows", .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, 0, 10, 3, 4)}, SHARD(0, 0, 11)},
    {.name = "middle_rows", .inputs = {ONS_F32(4, 5), ONS_RANDOM(ONS_INT64, 0, 10, 3, 4)}, SHARD(0, 4, 11)},
    {.name = "last_rows", .inputs = {ONS_F32(3, 8), ONS_RANDOM(ONS_INT64, 0, 10, 30)}, SHARD(0, 8, 11)},
    {.name = "all_rows", .inputs = {ONS_F32(11, 5), ONS_RANDOM(ONS_INT64, 0, 10, 3, 4)}, SHARD(0, 0, 11)},
    {.name = "negative", .inputs = {ONS_F32(2, 3), ONS_RANDOM(ONS_INT64, -6, 5, 20)}, SHARD(0, 3, 6)},
    {.name = "int32", .inputs = {ONS_F32(2, 3), ONS_RANDOM(ONS_INT32, -6, 5, 4, 5)}, SHARD(0, 2, 6)},
    {.name = "columns", .inputs = {ONS_F32(4, 3), ONS_RANDOM(ONS_INT64, 0, 6, 9)}, SHARD(-1, 2, 7)},
    {.name = "middle_axis", .inputs = {ONS_F32(3, 2, 2), ONS_RANDOM(ONS_INT64, 0, 4, 3, 2)}, SHARD(1, 1, 5)},
    {.name = "single_elements", .inputs = {ONS_F32(5), ONS_RANDOM(ONS_INT64, -9, 8, 20)}, SHARD(0, 3, 9)},
    {.name = "none_here",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(5), .value_count = 2, .values = {6, -1}}},
     SHARD(0, 2, 7)},
    {.name = "no_lookups", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 6, 0)}, SHARD(0, 2, 7)},
    {.name = "half",
     .inputs = {ONS_RANDOM(ONS_BFLOAT16, -1, 1, 4, 6), ONS_RANDOM(ONS_INT64, 0, 10, 12)},
     SHARD(0, 4, 11)},
    {.name = "threads", .inputs = {ONS_F32(33, 128), ONS_RANDOM(ONS_INT64, 0, 64, 8, 64)}, SHARD(0, 32, 65)},
    {.name = "outside", .inputs = {ONS_F32(3, 4), ONS_I64(0, 7)}, SHARD(0, 2, 7), .error = "index 7"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {0, 7, 1}}},
     SHARD(0, 2, 7),
     .fault = "an index"},
    {.name = "outside_at_many_places",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 9, 700)},
     SHARD(0, 2, 7),
     .fault = "an index"},
    {.name = "below_the_table", .inputs = {ONS_F32(3, 4), ONS_I64(0)}, SHARD(0, -1, 7), .error = "a shard of 3"},
    {.name = "beyond_the_table", .inputs = {ONS_F32(3, 4), ONS_I64(0)}, SHARD(0, 5, 7), .error = "a shard of 3"},
    {.name = "more_than_the_table", .inputs = {ONS_F32(3, 4), ONS_I64(0)}, SHARD(0, 0, 2), .error = "a shard of 3"},
    {.name = "large",
     .inputs = {ONS_F32(12565, 768), ONS_RANDOM(ONS_INT64, 0, 50256, 8, 1024)},
     SHARD(0, 12564, 50257),
     .benchmark = true},
    {.name = NULL},
};
