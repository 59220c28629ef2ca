/* Adagrad: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_training_adagrad[] = {
    {.name = "one",
     .inputs = {ONS_F32_IN(0.1, 1), ONS_RANDOM(ONS_INT64, 0, 9), ONS_F32(5, 7), ONS_F32(5, 7),
                ONS_F32_IN(0.1, 2, 5, 7)},
     .settings = {ONS_SET_FLOAT("decay_factor", 0.1), ONS_SET_FLOAT("norm_coefficient", 0.01)},
     .outputs = 2,
     .flops = 700},
    {.name = "several",
     .inputs = {ONS_F32_IN(0.1, 1, 1), ONS_RANDOM(ONS_INT64, 0, 9, 1), ONS_F32(3), ONS_F32(2, 2), ONS_F32(3),
                ONS_F32(2, 2), ONS_F32_IN(0.1, 2, 3), ONS_F32_IN(0.1, 2, 2, 2)},
     .outputs = 4,
     .flops = 140},
    {.name = "count",
     .inputs = {ONS_F32(), ONS_RANDOM(ONS_INT64, 0, 9), ONS_F32(3), ONS_F32(3)},
     .outputs = 2,
     .error = "4 inputs"},
    {.name = "types",
     .inputs = {ONS_F32(), ONS_RANDOM(ONS_INT64, 0, 9), ONS_F32(3), ONS_F32(4), ONS_F32(3)},
     .outputs = 2,
     .error = "differ"},
    {.name = NULL},
};
