/* SampleMean: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_sample_mean[] = {
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "rank2", .inputs = {ONS_F32(1, 1)}, .tolerance = 1e-6, .flops = 1},
    {.name = "double", .inputs = {ONS_RANDOM(ONS_FLOAT64, 1, 2)}, .tolerance = 1e-14, .flops = 1},
    {.name = NULL},
};
