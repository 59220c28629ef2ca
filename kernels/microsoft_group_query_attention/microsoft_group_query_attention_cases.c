/* GroupQueryAttention: cases for tests and benchmarks. */
#include "kernels/case.h"

#define ENDS                                                                                                           \
    {                                                                                                                  \
        .dtype = ONS_INT32, .shape = ONS_DIMS(2), .value_count = 1, .values = { 3 }                                    \
    }

#define LENGTH                                                                                                         \
    { .dtype = ONS_INT32, .value_count = 1, .values = {4}, .constant = true }

#define NO_PAST ONS_LEFT_OUT, ONS_LEFT_OUT, ENDS, LENGTH

#define APART ONS_F32(2, 4, 16), ONS_F32(2, 4, 8), ONS_F32(2, 4, 8)

#define TABLES ONS_F32(6, 2), ONS_F32(6, 2)

#define HEADS_OF(...)                                                                                                  \
    .settings = {ONS_SET_INT("num_heads", 4), ONS_SET_INT("kv_num_heads", 2), __VA_ARGS__}, .flops = 2688

const ons_case ons_cases_microsoft_group_query_attention[] = {
    {.name = "apart", .inputs = {APART, NO_PAST}, .outputs = 3, HEADS_OF(ONS_SET_FLOAT("scale", 0))},
    {.name = "packed",
     .inputs = {ONS_F32(2, 4, 32), ONS_LEFT_OUT, ONS_LEFT_OUT, NO_PAST},
     .outputs = 3,
     HEADS_OF(ONS_SET_FLOAT("scale", 0.3))},
    {.name = "rotary", .inputs = {APART, NO_PAST, TABLES}, .outputs = 3, HEADS_OF(ONS_SET_INT("do_rotary", 1))},
    {.name = "rotary_packed",
     .inputs = {ONS_F32(2, 4, 32), ONS_LEFT_OUT, ONS_LEFT_OUT, NO_PAST, TABLES},
     HEADS_OF(ONS_SET_INT("do_rotary", 1), ONS_SET_INT("rotary_interleaved", 1))},
    {.name = "rotary_part",
     .inputs = {APART, NO_PAST, ONS_F32(6, 1), ONS_F32(6, 1)},
     HEADS_OF(ONS_SET_INT("do_rotary", 1))},
    {.name = "positions",
     .inputs = {APART, NO_PAST, TABLES, ONS_RANDOM(ONS_INT64, 0, 5, 2, 4)},
     HEADS_OF(ONS_SET_INT("do_rotary", 1))},
    {.name = "window", .inputs = {APART, NO_PAST}, HEADS_OF(ONS_SET_INT("local_window_size", 2))},
    {.name = "softcap", .inputs = {APART, NO_PAST}, HEADS_OF(ONS_SET_FLOAT("softcap", 1.5))},
    {.name = "bias",
     .inputs = {APART, NO_PAST, ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_F32(1, 4, 4, 4)},
     HEADS_OF(ONS_SET_FLOAT("scale", 0))},
    {.name = "empty_past",
     .inputs = {APART, ONS_F32(2, 2, 0, 4), ONS_F32(2, 2, 0, 4), ENDS, LENGTH},
     HEADS_OF(ONS_SET_FLOAT("scale", 0))},
    {.name = "outside",
     .inputs = {APART, NO_PAST, TABLES, ONS_RANDOM(ONS_INT64, 9, 9, 2, 4)},
     HEADS_OF(ONS_SET_INT("do_rotary", 1)),
     .fault = "index"},
    {.name = "past",
     .inputs = {APART, ONS_F32(2, 2, 3, 4), ONS_F32(2, 2, 3, 4), ENDS, LENGTH},
     HEADS_OF(ONS_SET_FLOAT("scale", 0)),
     .error = "past"},
    {.name = "heads",
     .inputs = {ONS_F32(2, 4, 15), ONS_F32(2, 4, 8), ONS_F32(2, 4, 8), NO_PAST},
     HEADS_OF(ONS_SET_FLOAT("scale", 0)),
     .error = "fit"},
    {.name = "no_tables", .inputs = {APART, NO_PAST}, HEADS_OF(ONS_SET_INT("do_rotary", 1)), .error = "tables"},
    {.name = NULL},
};
