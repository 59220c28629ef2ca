/* Reshape: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_reshape[] = {
    {.name = "matrix", .inputs = {ONS_F32(4, 6), ONS_I64(3, 8)}},
    {.name = "rest", .inputs = {ONS_F32(4, 6), ONS_I64(2, -1, 3)}},
    {.name = "keep", .inputs = {ONS_F32(4, 6, 5), ONS_I64(0, 0, -1, 1)}},
    {.name = "to_rank0", .inputs = {ONS_F32(1, 1), {.dtype = ONS_INT64, .shape = {1, {0}}, .constant = true}}},
    {.name = "empty", .inputs = {ONS_F32(0, 3), ONS_I64(0, 5)}, .settings = {ONS_SET_INT("allowzero", 1)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 6), ONS_I64(2, 3)}},
    {.name = "uneven", .inputs = {ONS_F32(4, 6), ONS_I64(5, -1)}, .error = "do not divide"},
    {.name = "too_many", .inputs = {ONS_F32(4, 6), ONS_I64(5, 5)}, .error = "cannot become"},
    {.name = "two_rests", .inputs = {ONS_F32(4, 6), ONS_I64(-1, -1)}, .error = "cannot stand"},
    {.name = "from_data", .inputs = {ONS_F32(4, 6), ONS_RANDOM(ONS_INT64, 1, 9, 2)}, .error = "depends on data"},
    {.name = NULL},
};
