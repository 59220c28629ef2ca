/* Tile: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_tile[] = {
    {.name = "columns", .inputs = {ONS_F32(3, 4), ONS_I64(1, 3)}},
    {.name = "both", .inputs = {ONS_F32(2, 3), ONS_I64(2, 2)}},
    {.name = "middle", .inputs = {ONS_F32(2, 3, 5), ONS_I64(1, 4, 1)}},
    {.name = "once", .inputs = {ONS_F32(2, 3), ONS_I64(1, 1)}},
    {.name = "never", .inputs = {ONS_F32(2, 3), ONS_I64(0, 1)}},
    {.name = "many_axes", .inputs = {ONS_F32(2, 1, 3, 2, 2, 1), ONS_I64(2, 3, 2, 1, 2, 2)}},
    {.name = "rank0", .inputs = {ONS_F32(), {.dtype = ONS_INT64, .shape = {1, {0}}, .constant = true}}},
    {.name = "booleans", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 3, 2), ONS_I64(2, 2)}},
    {.name = "threads", .inputs = {ONS_F32(30, 33), ONS_I64(5, 7)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -5, 5, 3), ONS_I64(2)}},
    {.name = "misfit", .inputs = {ONS_F32(2, 3), ONS_I64(2)}, .error = "repeats for"},
    {.name = "large", .inputs = {ONS_F32(512, 768), ONS_I64(8, 1)}, .benchmark = true},
    {.name = NULL},
};
