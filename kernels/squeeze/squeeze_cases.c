/* Squeeze: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_squeeze[] = {
    {.name = "one", .inputs = {ONS_F32(3, 1, 4), ONS_I64(1)}},
    {.name = "negative", .inputs = {ONS_F32(1, 3, 1), ONS_I64(-1)}},
    {.name = "all", .inputs = {ONS_F32(1, 3, 1, 2)}},
    {.name = "to_rank0", .inputs = {ONS_F32(1, 1), ONS_I64(0, 1)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 1), ONS_I64(0)}},
    {.name = "too_long", .inputs = {ONS_F32(3, 4), ONS_I64(0)}, .error = "cannot be dropped"},
    {.name = "twice", .inputs = {ONS_F32(1, 4), ONS_I64(0, -2)}, .error = "twice"},
    {.name = NULL},
};
