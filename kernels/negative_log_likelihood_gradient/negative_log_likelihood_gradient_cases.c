/* NegativeLogLikelihoodGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_negative_log_likelihood_gradient[] = {
    {.name = "rows",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5), ONS_F32()},
     .tolerance = 1e-6,
     .flops = 5},
    {.name = "ignored",
     .inputs = {ONS_F32(6, 7),
                {.dtype = ONS_INT32, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 6}},
                ONS_F32()},
     .tolerance = 1e-6,
     .flops = 6},
    {.name = "pixels",
     .inputs = {ONS_F32(2, 5, 3, 29), ONS_RANDOM(ONS_INT64, 0, 4, 2, 3, 29), ONS_F32()},
     .tolerance = 1e-6,
     .flops = 174},
    {.name = "large",
     .inputs = {ONS_F32(4096, 1000), ONS_RANDOM(ONS_INT64, 0, 999, 4096), ONS_F32()},
     .tolerance = 1e-6,
     .flops = 4096,
     .benchmark = true},
    {.name = NULL},
};
