/* QLinearMatMul: cases for tests and benchmarks. */
#include "kernels/case.h"

#define SCALE(VALUE)                                                                                                   \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .value_count = 1, .values = { VALUE }                                                    \
    }

const ons_case ons_cases_qlinear_matmul[] = {
    {.name = "matrix",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 5, 7), SCALE(0.01), ONS_RANDOM(ONS_UINT8, 100, 130),
                ONS_RANDOM(ONS_INT8, -128, 127, 7, 3), SCALE(0.02), ONS_RANDOM(ONS_INT8, -9, 9), SCALE(0.05),
                ONS_RANDOM(ONS_UINT8, 100, 130)},
     .flops = 210},
    {.name = "rows_and_columns",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 2, 5, 7), ONS_F32_IN(0.01, 0.02, 5), ONS_RANDOM(ONS_UINT8, 100, 130, 5),
                ONS_RANDOM(ONS_INT8, -128, 127, 2, 7, 3), ONS_F32_IN(0.01, 0.02, 3), ONS_RANDOM(ONS_INT8, -9, 9, 3),
                SCALE(0.05), ONS_RANDOM(ONS_INT8, -9, 9)},
     .flops = 420},
    {.name = "dtype",
     .inputs = {ONS_F32(5, 7), SCALE(0.01), ONS_F32(), ONS_F32(7, 3), SCALE(0.02), ONS_F32(), SCALE(0.05), ONS_F32()},
     .error = "int8"},
    {.name = "scales",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 5, 7), ONS_F32(4), ONS_RANDOM(ONS_UINT8, 0, 9, 4),
                ONS_RANDOM(ONS_UINT8, 0, 255, 7, 3), SCALE(0.02), ONS_RANDOM(ONS_UINT8, 0, 9), SCALE(0.05),
                ONS_RANDOM(ONS_UINT8, 0, 9)},
     .error = "scales"},
    {.name = NULL},
};
