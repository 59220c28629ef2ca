/* ClipFactor: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_clip_factor[] = {
    {.name = "below",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, 0, 1), ONS_RANDOM(ONS_FLOAT64, 0, 1)},
     .settings = {ONS_SET_FLOAT("max_norm", 10)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 2},
    {.name = "above",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, 1, 4), ONS_RANDOM(ONS_FLOAT64, 1, 4), ONS_RANDOM(ONS_FLOAT64, 1, 4)},
     .settings = {ONS_SET_FLOAT("max_norm", 0.5)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 3},
    {.name = "no_limit", .inputs = {ONS_RANDOM(ONS_FLOAT64, 1, 4)}, .outputs = 2, .tolerance = 1e-6, .flops = 1},
    {.name = "norm_alone", .inputs = {ONS_RANDOM(ONS_FLOAT64, 1, 4)}, .tolerance = 1e-6, .flops = 1},
    {.name = NULL},
};
