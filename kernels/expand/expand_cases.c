/* Expand: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_expand[] = {
    {.name = "rows", .inputs = {ONS_F32(1, 5), ONS_I64(4, 5)}},
    {.name = "columns", .inputs = {ONS_F32(4, 1), ONS_I64(4, 9)}},
    {.name = "both_ways", .inputs = {ONS_F32(3, 1, 4), ONS_I64(2, 1)}},
    {.name = "new_axes", .inputs = {ONS_F32(3), ONS_I64(2, 4, 3)}},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_I64(2, 3)}},
    {.name = "empty", .inputs = {ONS_F32(1, 3), ONS_I64(0, 3)}},
    {.name = "channels", .inputs = {ONS_F32(2, 19, 1, 1), ONS_I64(2, 19, 3, 5)}},
    {.name = "positions", .inputs = {ONS_F32(1, 3, 5), ONS_I64(2, 19, 3, 5)}},
    {.name = "threads", .inputs = {ONS_F32(1, 40, 1), ONS_I64(9, 40, 77)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -5, 5, 1), ONS_I64(6)}},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_I64(4)}, .error = "does not broadcast"},
    {.name = "large", .inputs = {ONS_F32(4096, 1), ONS_I64(4096, 1024)}, .benchmark = true},
    {.name = NULL},
};
