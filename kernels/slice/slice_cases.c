/* Slice: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_slice[] = {
    {.name = "front", .inputs = {ONS_F32(5, 7), ONS_I64(1, 2), ONS_I64(4, 6)}},
    {.name = "axis", .inputs = {ONS_F32(2, 9, 3), ONS_I64(3), ONS_I64(9), ONS_I64(-2)}},
    {.name = "to_the_end", .inputs = {ONS_F32(2, 9), ONS_I64(2), ONS_I64((double)INT64_MAX), ONS_I64(1), ONS_I64(2)}},
    {.name = "backwards", .inputs = {ONS_F32(4, 5), ONS_I64(-1), ONS_I64((double)INT64_MIN), ONS_I64(1), ONS_I64(-1)}},
    {.name = "backwards_by_two", .inputs = {ONS_F32(9, 3), ONS_I64(100), ONS_I64(1), ONS_I64(0), ONS_I64(-2)}},
    {.name = "negative", .inputs = {ONS_F32(6, 3), ONS_I64(-4), ONS_I64(-1), ONS_I64(0)}},
    {.name = "nothing", .inputs = {ONS_F32(6, 3), ONS_I64(4), ONS_I64(2), ONS_I64(0)}},
    {.name = "everything", .inputs = {ONS_F32(6, 3), ONS_I64(0), ONS_I64(6), ONS_I64(0)}},
    {.name = "int32",
     .inputs = {ONS_F32(6, 3),
                {.dtype = ONS_INT32, .shape = {1, {1}}, .value_count = 1, .values = {2}, .constant = true},
                {.dtype = ONS_INT32, .shape = {1, {1}}, .value_count = 1, .values = {5}, .constant = true}}},
    {.name = "channels", .inputs = {ONS_F32(2, 9, 5, 4), ONS_I64(3), ONS_I64(8), ONS_I64(1)}},
    {.name = "window", .inputs = {ONS_F32(2, 3, 5, 4), ONS_I64(1, -1), ONS_I64(4, 0), ONS_I64(2, 3), ONS_I64(1, -2)}},
    {.name = "threads_channels", .inputs = {ONS_F32(4, 116, 14, 14), ONS_I64(58), ONS_I64(116), ONS_I64(1)}},
    {.name = "threads", .inputs = {ONS_F32(60, 700), ONS_I64(100), ONS_I64(600), ONS_I64(1)}},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_I64(-2), ONS_I64((double)INT64_MAX), ONS_I64(0)}},
    {.name = "zero_step", .inputs = {ONS_F32(6), ONS_I64(0), ONS_I64(2), ONS_I64(0), ONS_I64(0)}, .error = "step of 0"},
    {.name = "twice", .inputs = {ONS_F32(6, 3), ONS_I64(0, 0), ONS_I64(2, 2), ONS_I64(0, -2)}, .error = "sliced twice"},
    {.name = "large", .inputs = {ONS_F32(16, 256, 2304), ONS_I64(768), ONS_I64(1536), ONS_I64(2)}, .benchmark = true},
    {.name = NULL},
};
