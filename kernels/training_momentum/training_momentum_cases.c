/* Momentum: cases for tests and benchmarks. */
#include "kernels/case.h"

#define MOMENTUM_SETTINGS(MODE_TEXT)                                                                                   \
    {                                                                                                                  \
        ONS_SET_FLOAT("alpha", 0.95), ONS_SET_FLOAT("beta", 0.8), ONS_SET_FLOAT("norm_coefficient", 0.01),             \
            ONS_SET_STRING("mode", MODE_TEXT)                                                                          \
    }

const ons_case ons_cases_training_momentum[] = {
    {.name = "standard",
     .inputs = {ONS_F32_IN(0.1, 1), ONS_RANDOM(ONS_INT64, 0, 0), ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(5, 7)},
     .settings = MOMENTUM_SETTINGS("standard"),
     .outputs = 2,
     .flops = 700},
    {.name = "nesterov",
     .inputs = {ONS_F32_IN(0.1, 1), ONS_RANDOM(ONS_INT64, 1, 9), ONS_F32(3), ONS_F32(2, 2), ONS_F32(3), ONS_F32(2, 2),
                ONS_F32(3), ONS_F32(2, 2)},
     .settings = MOMENTUM_SETTINGS("nesterov"),
     .outputs = 4,
     .flops = 140},
    {.name = "mode",
     .inputs = {ONS_F32(), ONS_RANDOM(ONS_INT64, 1, 9), ONS_F32(3), ONS_F32(3), ONS_F32(3)},
     .settings = MOMENTUM_SETTINGS("heavy"),
     .outputs = 2,
     .error = "heavy"},
    {.name = NULL},
};
