/* RotaryEmbedding: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

const ons_case ons_cases_microsoft_rotary_embedding[] = {
    {.name = "positions_first",
     .inputs = {ONS_F32(2, 3, 16), ONS_RANDOM(ONS_INT64, 0, 9, 2, 3), ONS_F32(10, 4), ONS_F32(10, 4)},
     .flops = 96},
    {.name = "heads_first",
     .inputs = {ONS_F32(2, 2, 3, 8), ONS_RANDOM(ONS_INT64, 0, 9, 2, 3), ONS_F32(10, 4), ONS_F32(10, 4)},
     .flops = 96},
    {.name = "interleaved",
     .inputs = {ONS_F32(2, 2, 3, 8), ONS_RANDOM(ONS_INT64, 0, 6, 1), ONS_F32(10, 4), ONS_F32(10, 4)},
     .settings = {ONS_SET_INT("interleaved", 1)},
     .flops = 96},
    {.name = "part",
     .inputs = {ONS_F32(2, 3, 16), ONS_RANDOM(ONS_INT64, 0, 6, 1), ONS_F32(10, 2), ONS_F32(10, 2)},
     .settings = {ONS_SET_INT("num_heads", 2), ONS_SET_INT("rotary_embedding_dim", 4)},
     .flops = 96},
    {.name = "heads",
     .inputs = {ONS_F32(2, 3, 15), ONS_RANDOM(ONS_INT64, 0, 6, 1), ONS_F32(10, 4), ONS_F32(10, 4)},
     .error = "do not fit"},
    {.name = "places",
     .inputs = {ONS_F32(2, 3, 16), ONS_RANDOM(ONS_INT64, 0, 6, 3), ONS_F32(10, 4), ONS_F32(10, 4)},
     .error = "positions"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(1, 2, 1, 8),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 1), .value_count = 1, .values = {3}},
                ONS_F32(3, 4),
                ONS_F32(3, 4)},
     .flops = -1,
     .fault = "index"},
    {.name = NULL},
};
