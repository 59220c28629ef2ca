/* Cast: cases for tests and benchmarks. */
#include <math.h>

#include "kernels/case.h"

#define ODD_NUMBERS(DTYPE)                                                                                             \
    {                                                                                                                  \
        .dtype = (DTYPE), .shape = ONS_DIMS(8), .value_count = 8, .values = { 0, 1, -1, 2.5, -2.5, 300, -70000, 0.1 }  \
    }

#define CAST(NAME, INPUT, TYPE, COUNT)                                                                                 \
    { .name = (NAME), .inputs = {INPUT}, .settings = {ONS_SET_INT("to", TYPE)}, .flops = (COUNT), .no_gradient = true }

const ons_case ons_cases_cast[] = {
    {.name = "float_double",
     .inputs = {ONS_F32(5, 7)},
     .settings = {ONS_SET_INT("to", ONS_FLOAT64)},
     .tolerance = 1e-7,
     .flops = 35},
    CAST("float_half", ODD_NUMBERS(ONS_FLOAT32), ONS_FLOAT16, 8),
    CAST("float_bfloat16", ODD_NUMBERS(ONS_FLOAT32), ONS_BFLOAT16, 8),
    CAST("float_int64", ODD_NUMBERS(ONS_FLOAT32), ONS_INT64, 8),
    CAST("float_int32", ODD_NUMBERS(ONS_FLOAT32), ONS_INT32, 8),
    CAST("float_int8", ODD_NUMBERS(ONS_FLOAT32), ONS_INT8, 8),
    CAST("float_uint8", ODD_NUMBERS(ONS_FLOAT32), ONS_UINT8, 8),
    CAST("float_bool", ODD_NUMBERS(ONS_FLOAT32), ONS_BOOL, 8),
    CAST("half_float", ODD_NUMBERS(ONS_FLOAT16), ONS_FLOAT32, 8),
    CAST("bfloat16_half", ODD_NUMBERS(ONS_BFLOAT16), ONS_FLOAT16, 8),
    CAST("double_float", ONS_RANDOM(ONS_FLOAT64, -1, 1, 35), ONS_FLOAT64, 35),
    CAST("int64_float", ONS_RANDOM(ONS_INT64, -1000, 1000, 3, 16, 33, 35), ONS_FLOAT32, 55440),
    CAST("int64_int32", ONS_RANDOM(ONS_INT64, -1000, 1000, 35), ONS_INT32, 35),
    CAST("int32_int64", ONS_RANDOM(ONS_INT32, -1000, 1000, 35), ONS_INT64, 35),
    CAST("int32_float", ONS_RANDOM(ONS_INT32, -1000, 1000, 35), ONS_FLOAT32, 35),
    CAST("int64_uint8", ONS_RANDOM(ONS_INT64, -1000, 1000, 35), ONS_UINT8, 35),
    CAST("int64_bool", ONS_RANDOM(ONS_INT64, -2, 2, 35), ONS_BOOL, 35),
    CAST("bool_float", ONS_RANDOM(ONS_BOOL, 0, 1, 5, 7), ONS_FLOAT32, 35),
    CAST("bool_int64", ONS_RANDOM(ONS_BOOL, 0, 1, 5, 7), ONS_INT64, 35),
    CAST("uint8_float", ONS_RANDOM(ONS_UINT8, 0, 255, 1000), ONS_FLOAT32, 1000),
    CAST("edges",
         ((ons_case_input){.dtype = ONS_FLOAT32,
                           .shape = ONS_DIMS(5),
                           .value_count = 5,
                           .values = {NAN, INFINITY, -INFINITY, 1e20, -1e20}}),
         ONS_INT64, 5),
    CAST("float_float8", ODD_NUMBERS(ONS_FLOAT32), 17, 8),
    CAST("float_float8fnuz", ODD_NUMBERS(ONS_FLOAT32), 18, 8),
    CAST("float_float8e5", ODD_NUMBERS(ONS_FLOAT32), 19, 8),
    {.name = "unsaturated",
     .inputs = {ODD_NUMBERS(ONS_FLOAT32)},
     .settings = {ONS_SET_INT("to", 19), ONS_SET_INT("saturate", 0)},
     .flops = 8,
     .no_gradient = true},
    {.name = "power",
     .inputs = {ONS_F32_IN(0.1, 9, 8)},
     .settings = {ONS_SET_INT("to", 24), ONS_SET_STRING("round_mode", "down")},
     .flops = 8,
     .no_gradient = true},
    CAST("float_int4", ODD_NUMBERS(ONS_FLOAT32), 22, 8),
    CAST("int64_uint2", ONS_RANDOM(ONS_INT64, -9, 9, 35), 25, 35),
    CAST("same", ONS_F32(9), ONS_FLOAT32, 9),
    CAST("rank0", ONS_RANDOM(ONS_INT64, -9, 9), ONS_FLOAT32, 1),
    CAST("empty", ONS_RANDOM(ONS_INT64, -9, 9, 0, 3), ONS_FLOAT32, 0),
    {.name = "large",
     .inputs = {ONS_RANDOM(ONS_INT64, -1000, 1000, 4096, 1024)},
     .settings = {ONS_SET_INT("to", ONS_FLOAT32)},
     .flops = 4194304,
     .benchmark = true},
    {.name = "string", .inputs = {ONS_F32(3)}, .settings = {ONS_SET_INT("to", ONS_STRING)}, .error = "no conversion"},
    {.name = NULL},
};
