/* Range: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_range[] = {
    {.name = "up", .inputs = {ONS_I64_SCALAR(2), ONS_I64_SCALAR(11), ONS_I64_SCALAR(3)}},
    {.name = "down", .inputs = {ONS_I64_SCALAR(5), ONS_I64_SCALAR(-1), ONS_I64_SCALAR(-2)}},
    {.name = "nothing", .inputs = {ONS_I64_SCALAR(5), ONS_I64_SCALAR(5), ONS_I64_SCALAR(1)}},
    {.name = "floats", .inputs = {ONS_F32_SCALAR(0.5), ONS_F32_SCALAR(3), ONS_F32_SCALAR(0.75)}},
    {.name = "zero_step", .inputs = {ONS_I64_SCALAR(5), ONS_I64_SCALAR(5), ONS_I64_SCALAR(0)}, .error = "delta of 0"},
    {.name = "from_data",
     .inputs = {ONS_I64_SCALAR(5), ONS_RANDOM(ONS_INT64, 6, 9), ONS_I64_SCALAR(1)},
     .error = "depends on data"},
    {.name = NULL},
};
