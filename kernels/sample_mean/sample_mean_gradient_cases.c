/* SampleMeanGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_sample_mean_gradient[] = {
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "rank2", .inputs = {ONS_F32(1, 1), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = NULL},
};
