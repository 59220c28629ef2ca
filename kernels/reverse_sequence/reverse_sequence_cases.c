/* ReverseSequence: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_reverse_sequence[] = {
    {.name = "time_first", .inputs = {ONS_F32(4, 3), ONS_RANDOM(ONS_INT64, 1, 4, 3)}},
    {.name = "batch_first",
     .inputs = {ONS_F32(3, 5, 2), ONS_RANDOM(ONS_INT64, 0, 5, 3)},
     .settings = {ONS_SET_INT("batch_axis", 0), ONS_SET_INT("time_axis", 1)}},
    {.name = "threads", .inputs = {ONS_F32(30, 40, 65), ONS_RANDOM(ONS_INT64, 1, 30, 40)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 4, 3), ONS_RANDOM(ONS_INT64, 1, 4, 3)}},
    {.name = "bytes", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 4, 3), ONS_RANDOM(ONS_INT64, 1, 4, 3)}},
    {.name = "ONS_REVERSE_SEQUENCE_PROBLEM_in_data",
     .inputs = {ONS_F32(4, 2), {.dtype = ONS_INT64, .shape = ONS_DIMS(2), .value_count = 2, .values = {1, 5}}},
     .fault = "length"},
    {.name = "none", .inputs = {ONS_F32(4, 0), ONS_RANDOM(ONS_INT64, 1, 4, 0)}},
    {.name = "one_axis",
     .inputs = {ONS_F32(4, 3), ONS_RANDOM(ONS_INT64, 1, 4, 3)},
     .settings = {ONS_SET_INT("time_axis", 1)},
     .error = "axes 0 and 1"},
    {.name = "ONS_REVERSE_SEQUENCE_PROBLEM", .inputs = {ONS_F32(4, 2), ONS_I64(1, 5)}, .error = "length 5"},
    {.name = "misfit", .inputs = {ONS_F32(4, 3), ONS_I64(1, 4)}, .error = "3 samples"},
    {.name = NULL},
};
