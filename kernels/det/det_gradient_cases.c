/* DetGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_det_gradient[] = {
    {.name = "matrix", .inputs = {ONS_F32(), ONS_F32(3, 3)}, .tolerance = 1e-6, .flops = 54},
    {.name = "batch", .inputs = {ONS_F32(2, 3), ONS_F32(2, 3, 4, 4)}, .tolerance = 1e-6, .flops = 768},
    {.name = "number", .inputs = {ONS_F32(5), ONS_F32(5, 1, 1)}, .tolerance = 1e-6, .flops = 10},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_F32(2, 3, 3)}, .error = "cotangent"},
    {.name = "large", .inputs = {ONS_F32(64), ONS_F32(64, 32, 32)}, .tolerance = 1e-3, .flops = -1, .benchmark = true},
    {.name = NULL},
};
