/* QLinearConv: cases for tests and benchmarks. */
#include "kernels/case.h"

#define SCALE(VALUE)                                                                                                   \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .value_count = 1, .values = { VALUE }                                                    \
    }

const ons_case ons_cases_qlinear_conv[] = {
    {.name = "channels",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 2, 3, 5, 5), SCALE(0.01), ONS_RANDOM(ONS_UINT8, 100, 130),
                ONS_RANDOM(ONS_INT8, -128, 127, 4, 3, 3, 3), ONS_F32_IN(0.01, 0.02, 4), ONS_RANDOM(ONS_INT8, -9, 9, 4),
                SCALE(0.1), ONS_RANDOM(ONS_UINT8, 100, 130), ONS_RANDOM(ONS_INT32, -900, 900, 4)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .flops = -1},
    {.name = "grouped",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 1, 4, 6), SCALE(0.01), ONS_RANDOM(ONS_UINT8, 100, 130),
                ONS_RANDOM(ONS_UINT8, 0, 255, 4, 2, 3), SCALE(0.01), ONS_RANDOM(ONS_UINT8, 100, 130), SCALE(0.1),
                ONS_RANDOM(ONS_INT8, -9, 9)},
     .settings = {ONS_SET_INT("group", 2), ONS_SET_INTS("strides", 2)},
     .flops = -1},
    {.name = "bias",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 1, 2, 6), SCALE(0.01), ONS_RANDOM(ONS_UINT8, 100, 130),
                ONS_RANDOM(ONS_UINT8, 0, 255, 4, 2, 3), SCALE(0.01), ONS_RANDOM(ONS_UINT8, 100, 130), SCALE(0.1),
                ONS_RANDOM(ONS_INT8, -9, 9), ONS_F32(4)},
     .error = "bias"},
    {.name = NULL},
};
