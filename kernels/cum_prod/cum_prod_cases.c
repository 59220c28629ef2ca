/* CumProd: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_cum_prod[] = {
    {.name = "last", .inputs = {ONS_F32(3, 17), ONS_I64_SCALAR(-1)}, .tolerance = 1e-6, .flops = 51},
    {.name = "first", .inputs = {ONS_F32(9, 5), ONS_I64_SCALAR(0)}, .tolerance = 1e-6, .flops = 45},
    {.name = "exclusive",
     .inputs = {ONS_F32(2, 9, 5), ONS_I64_SCALAR(1)},
     .settings = {ONS_SET_INT("exclusive", 1)},
     .tolerance = 1e-6,
     .flops = 90},
    {.name = "reverse",
     .inputs = {ONS_F32(9), ONS_I64_SCALAR(0)},
     .settings = {ONS_SET_INT("reverse", 1), ONS_SET_INT("exclusive", 1)},
     .tolerance = 1e-6,
     .flops = 9},
    {.name = "zeros",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {2, 0, 3, -1, 0, 5}},
                ONS_I64_SCALAR(0)},
     .tolerance = 1e-6,
     .flops = 6},
    {.name = "threads", .inputs = {ONS_F32(3, 300, 45), ONS_I64_SCALAR(1)}, .tolerance = 1e-6, .flops = 40500},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT32, -9, 9, 5), ONS_I64_SCALAR(0)}, .flops = 5},
    {.name = "outside", .inputs = {ONS_F32(3), ONS_I64_SCALAR(1)}, .error = "axis 1"},
    {.name = NULL},
};
