/* BitCast: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_bit_cast[] = {
    {.name = "float_int32", .inputs = {ONS_F32(5, 7)}, .settings = {ONS_SET_INT("to", ONS_INT32)}},
    {.name = "int32_float",
     .inputs = {ONS_RANDOM(ONS_INT32, 1e9, 1.1e9, 35)},
     .settings = {ONS_SET_INT("to", ONS_FLOAT32)}},
    {.name = "double_uint64",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 35)},
     .settings = {ONS_SET_INT("to", ONS_UINT64)}},
    {.name = "half", .inputs = {ONS_RANDOM(ONS_UINT16, 0, 30000, 35)}, .settings = {ONS_SET_INT("to", ONS_FLOAT16)}},
    {.name = "int8", .inputs = {ONS_RANDOM(ONS_INT8, -128, 127, 35)}, .settings = {ONS_SET_INT("to", ONS_UINT8)}},
    {.name = "rank0", .inputs = {ONS_F32()}, .settings = {ONS_SET_INT("to", ONS_UINT32)}},
    {.name = "empty", .inputs = {ONS_F32(0, 3)}, .settings = {ONS_SET_INT("to", ONS_UINT32)}},
    {.name = "size", .inputs = {ONS_F32(3)}, .settings = {ONS_SET_INT("to", ONS_INT64)}, .error = "cannot be read"},
    {.name = "string", .inputs = {ONS_F32(3)}, .settings = {ONS_SET_INT("to", ONS_STRING)}, .error = "cannot be read"},
    {.name = NULL},
};
