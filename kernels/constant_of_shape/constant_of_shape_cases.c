/* ConstantOfShape: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_constant_of_shape[] = {
    {.name = "zeros", .inputs = {ONS_I64(2, 3)}},
    {.name = "ones", .inputs = {ONS_I64(2, 3), ONS_F32_SCALAR(1)}},
    {.name = "integers", .inputs = {ONS_I64(4), ONS_I64(-7)}},
    {.name = "rank0", .inputs = {{.dtype = ONS_INT64, .shape = {1, {0}}, .constant = true}, ONS_F32_SCALAR(2)}},
    {.name = "empty", .inputs = {ONS_I64(0, 3)}},
    {.name = "negative", .inputs = {ONS_I64(-1)}, .error = "node"},
    {.name = "from_data", .inputs = {ONS_RANDOM(ONS_INT64, 1, 3, 2)}, .error = "depends on data"},
    {.name = NULL},
};
