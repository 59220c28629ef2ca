/* Add: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_add[] = {
    ONS_BROADCAST_CASES(ONS_F32, ONS_F32, 1e-6),
    ONS_BROADCAST_INTEGER_CASES(-9),
    {.name = "bytes_of_channels",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 2, 3, 4, 5), ONS_RANDOM(ONS_UINT8, 0, 9, 3, 1, 1)},
     .flops = 120,
     .no_gradient = true},
    {.name = "gpt_large_stream",
     .inputs = {ONS_F32(16, 128, 384), ONS_F32(16, 128, 384)},
     .tolerance = 1e-6,
     .flops = 786432,
     .benchmark = true},
    {.name = "bert_stream",
     .inputs = {ONS_F32(8, 128, 768), ONS_F32(8, 128, 768)},
     .tolerance = 1e-6,
     .flops = 786432,
     .benchmark = true},
    {.name = NULL},
};
