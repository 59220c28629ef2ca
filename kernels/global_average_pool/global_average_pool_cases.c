/* GlobalAveragePool: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_global_average_pool[] = {
    {.name = "plane", .inputs = {ONS_F32(2, 5, 7, 3)}, .tolerance = 1e-6, .flops = 210},
    {.name = "one_dim", .inputs = {ONS_F32(2, 5, 9)}, .tolerance = 1e-6, .flops = 90},
    {.name = "three_dims", .inputs = {ONS_F32(2, 3, 2, 3, 4)}, .tolerance = 1e-6, .flops = 144},
    {.name = "no_positions", .inputs = {ONS_F32(4, 3)}, .tolerance = 1e-6, .flops = 12},
    {.name = "threads", .inputs = {ONS_F32(3, 37, 21, 19)}, .tolerance = 1e-6, .flops = 44289},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(16, 512, 14, 14)}, .tolerance = 1e-6, .flops = 1605632, .benchmark = true},
    {.name = NULL},
};
