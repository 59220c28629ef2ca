/* MatMulInteger: cases for tests and benchmarks. */
#include "kernels/case.h"

#define BYTES(...) ONS_RANDOM(ONS_UINT8, 0, 255, __VA_ARGS__)

#define SIGNED(...) ONS_RANDOM(ONS_INT8, -128, 127, __VA_ARGS__)

const ons_case ons_cases_matmul_integer[] = {
    {.name = "plain", .inputs = {BYTES(4, 3), SIGNED(3, 2)}, .flops = 48},
    {.name = "zero_points", .inputs = {BYTES(4, 3), BYTES(3, 2), BYTES(1), BYTES()}, .flops = 48},
    {.name = "rows_and_columns", .inputs = {BYTES(4, 3), SIGNED(3, 2), BYTES(4), SIGNED(2)}, .flops = 48},
    {.name = "batches", .inputs = {BYTES(2, 4, 3), SIGNED(2, 3, 2), BYTES(2, 4, 1), SIGNED(2, 1, 2)}, .flops = 96},
    {.name = "vectors", .inputs = {BYTES(3), SIGNED(3)}, .flops = 6},
    {.name = "zero_misfit", .inputs = {BYTES(4, 3), BYTES(3, 2), BYTES(3)}, .error = "zero point"},
    {.name = "wide", .inputs = {ONS_RANDOM(ONS_INT32, 0, 9, 4, 3), BYTES(3, 2)}, .error = "int8"},
    {.name = NULL},
};
