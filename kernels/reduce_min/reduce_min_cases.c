/* ReduceMin: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/reduction/reduction.h"

const ons_case ons_cases_reduce_min[] = {
    ONS_REDUCTION_CASES(ONS_F32, 0, -9, false),
    {.name = "empty_bool", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 3, 0), ONS_I64(1)}, .flops = 0},
    {.name = "empty_int8", .inputs = {ONS_RANDOM(ONS_INT8, 0, 1, 3, 0), ONS_I64(1)}, .flops = 0},
    {.name = "uint64",
     .inputs = {{.dtype = ONS_UINT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {3, 1, 0x1p63}}, ONS_I64(0)},
     .flops = 3},
    {.name = NULL},
};
