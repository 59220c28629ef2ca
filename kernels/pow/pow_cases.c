/* Pow: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

#define POSITIVE(...) ONS_F32_IN(0.3, 2, ##__VA_ARGS__)

#define FIXED(NAME, EXPONENT)                                                                                          \
    { .name = (NAME), .inputs = {POSITIVE(5, 7), ONS_F32_SCALAR(EXPONENT)}, .tolerance = 1e-6, .flops = 35 }

const ons_case ons_cases_pow[] = {
    ONS_BROADCAST_CASES(POSITIVE, ONS_F32, 1e-6),
    FIXED("exponent_0", 0),
    FIXED("exponent_1", 1),
    FIXED("exponent_2", 2),
    FIXED("exponent_3", 3),
    FIXED("exponent_half", 0.5),
    FIXED("exponent_minus_1", -1),
    FIXED("exponent_minus_half", -0.5),
    FIXED("exponent_any", 1.7),
    {.name = "negative_base", .inputs = {ONS_F32(5, 7), ONS_F32_SCALAR(3)}, .tolerance = 1e-6, .flops = 35},
    {.name = "integer_exponent", .inputs = {ONS_F32(5, 7), ONS_I64_SCALAR(2)}, .tolerance = 1e-6, .flops = 35},
    {.name = "int64",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5, 7), ONS_RANDOM(ONS_INT64, 0, 5, 7)},
     .flops = 35,
     .no_gradient = true},
    {.name = "double_exponent",
     .inputs = {ONS_F32(5, 7), {.dtype = ONS_FLOAT64, .value_count = 1, .values = {3}, .constant = true}},
     .tolerance = 1e-6,
     .flops = 35},
    {.name = "int32_float",
     .inputs = {ONS_RANDOM(ONS_INT32, 1, 9, 35), ONS_F32_IN(0, 3, 35)},
     .flops = 35,
     .no_gradient = true},
    {.name = "float_int32",
     .inputs = {ONS_F32_IN(0.3, 2, 35), ONS_RANDOM(ONS_INT32, -3, 3, 35)},
     .tolerance = 1e-6,
     .flops = 35},
    {.name = "float_uint64",
     .inputs = {ONS_F32_IN(0.3, 2, 35), ONS_RANDOM(ONS_UINT64, 0, 3, 35)},
     .tolerance = 1e-6,
     .flops = 35},
    {.name = "uint8",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 35), ONS_RANDOM(ONS_UINT8, 0, 5, 35)},
     .flops = 35,
     .no_gradient = true},
    ONS_UINT64_CASE,
    {.name = "square_large",
     .inputs = {ONS_F32(64, 128, 1024), ONS_F32_SCALAR(2)},
     .tolerance = 1e-6,
     .flops = 8388608,
     .benchmark = true},
    {.name = NULL},
};
