/* Unsqueeze: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_unsqueeze[] = {
    {.name = "front", .inputs = {ONS_F32(3, 4), ONS_I64(0)}},
    {.name = "several", .inputs = {ONS_F32(3, 4), ONS_I64(0, -1, 2)}},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_I64(0)}},
    {.name = "integer", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9), ONS_I64(0)}},
    {.name = "twice", .inputs = {ONS_F32(3), ONS_I64(0, 0)}, .error = "twice"},
    {.name = "outside", .inputs = {ONS_F32(3), ONS_I64(2)}, .error = "axis 2"},
    {.name = NULL},
};
