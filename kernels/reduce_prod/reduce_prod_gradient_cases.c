/* ReduceProdGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_reduce_prod_gradient[] = {
    {.name = "rows", .inputs = {ONS_F32(4, 7), ONS_I64(1), ONS_F32(4, 1)}, .tolerance = 1e-5, .flops = 28},
    {.name = "dropped",
     .inputs = {ONS_F32(4, 7), ONS_I64(0), ONS_F32(7)},
     .settings = {ONS_SET_INT("keepdims", 0)},
     .tolerance = 1e-5,
     .flops = 28},
    {.name = "zeros",
     .inputs = {{.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(3, 4),
                 .value_count = 12,
                 .values = {1, 2, 0, 3, 0, 2, 0, 5, 1, 2, 3, 4}},
                ONS_I64(1),
                ONS_F32(3, 1)},
     .tolerance = 1e-5,
     .flops = 12},
    {.name = "all", .inputs = {ONS_F32(2, 3), ONS_LEFT_OUT, ONS_F32(1, 1)}, .tolerance = 1e-5, .flops = 6},
    {.name = NULL},
};
