/* Adam: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_training_adam[] = {
    {.name = "one",
     .inputs = {ONS_F32_IN(0.1, 1), ONS_RANDOM(ONS_INT64, 1, 9), ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(5, 7),
                ONS_F32_IN(0.1, 2, 5, 7)},
     .settings = {ONS_SET_FLOAT("norm_coefficient", 0.01), ONS_SET_FLOAT("norm_coefficient_post", 0.02)},
     .outputs = 3,
     .flops = 1050},
    {.name = "several",
     .inputs = {ONS_F32_IN(0.1, 1), ONS_RANDOM(ONS_INT64, 1, 9), ONS_F32(3), ONS_F32(2, 2), ONS_F32(3), ONS_F32(2, 2),
                ONS_F32(3), ONS_F32(2, 2), ONS_F32_IN(0.1, 2, 3), ONS_F32_IN(0.1, 2, 2, 2)},
     .settings = {ONS_SET_FLOAT("alpha", 0.95), ONS_SET_FLOAT("beta", 0.85), ONS_SET_FLOAT("epsilon", 1e-2)},
     .outputs = 6,
     .flops = 210},
    /* Both sides of the choice are computed: the one that is not taken divides by zero. */
    {.name = "not_counted",
     .inputs = {ONS_F32_IN(0.1, 1), ONS_RANDOM(ONS_INT64, 0, 0), ONS_F32(3), ONS_F32(3), ONS_F32(3),
                ONS_F32_IN(0.1, 2, 3)},
     .outputs = 3,
     .flops = 90,
     .no_gradient = true},
    {.name = "count",
     .inputs = {ONS_F32(), ONS_RANDOM(ONS_INT64, 0, 9), ONS_F32(3), ONS_F32(3), ONS_F32(3)},
     .outputs = 3,
     .error = "5 inputs"},
    {.name = NULL},
};
