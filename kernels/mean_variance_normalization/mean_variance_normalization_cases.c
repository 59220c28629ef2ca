/* MeanVarianceNormalization: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_mean_variance_normalization[] = {
    {.name = "pixels", .inputs = {ONS_F32(2, 3, 4, 5)}, .tolerance = 1e-5, .flops = 600},
    {.name = "rows",
     .inputs = {ONS_F32(4, 7)},
     .settings = {ONS_SET_INTS("axes", -1)},
     .tolerance = 1e-5,
     .flops = 140},
    {.name = "all",
     .inputs = {ONS_F32_IN(2, 3, 4, 7)},
     .settings = {ONS_SET_INTS("axes", 0, 1)},
     .tolerance = 1e-4,
     .flops = 140},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4, 5)}, .flops = 0},
    {.name = "outside", .inputs = {ONS_F32(4, 7)}, .error = "axis 2"},
    {.name = "twice", .inputs = {ONS_F32(4, 7)}, .settings = {ONS_SET_INTS("axes", 1, -1)}, .error = "twice"},
    {.name = "integer", .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 2, 3, 4, 5)}, .error = "float"},
    {.name = NULL},
};
