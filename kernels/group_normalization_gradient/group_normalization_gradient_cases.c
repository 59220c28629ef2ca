/* GroupNormalizationGradient: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

#define INPUTS(SCALES, N, GROUP_COUNT, ...)                                                                            \
    ONS_F32(__VA_ARGS__), ONS_F32(__VA_ARGS__), ONS_F32(SCALES), ONS_F32(N, GROUP_COUNT),                              \
        ONS_F32_IN(0.5, 2, N, GROUP_COUNT)

const ons_case ons_cases_group_normalization_gradient[] = {
    {.name = "groups",
     .inputs = {INPUTS(6, 2, 3, 2, 6, 3, 4)},
     .settings = {ONS_SET_INT("num_groups", 3)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1296},
    {.name = "input_alone",
     .inputs = {INPUTS(6, 2, 3, 2, 6, 5)},
     .settings = {ONS_SET_INT("num_groups", 3)},
     .tolerance = 1e-5,
     .flops = 540},
    {.name = "scale_per_group",
     .inputs = {INPUTS(2, 3, 2, 3, 8, 5)},
     .settings = {ONS_SET_INT("num_groups", 2), ONS_SET_INT("scale_per_group", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1080},
    {.name = "threads",
     .inputs = {INPUTS(32, 5, 4, 5, 32, 17, 13)},
     .settings = {ONS_SET_INT("num_groups", 4)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 318240},
    {.name = "one_sample",
     .inputs = {INPUTS(32, 1, 4, 1, 32, 37, 23)},
     .settings = {ONS_SET_INT("num_groups", 4)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 245088},
    {.name = "empty",
     .inputs = {INPUTS(6, 0, 3, 0, 6, 5)},
     .settings = {ONS_SET_INT("num_groups", 3)},
     .outputs = 3,
     .flops = 0},
    {.name = "large",
     .inputs = {INPUTS(128, 8, 32, 8, 128, 32, 32)},
     .settings = {ONS_SET_INT("num_groups", 32)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 9437184,
     .benchmark = true},
    {.name = NULL},
};
