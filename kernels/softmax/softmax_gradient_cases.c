/* SoftmaxGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_softmax_gradient[] = {
    {.name = "rows", .inputs = {ONS_F32_IN(0, 1, 5, 7), ONS_F32(5, 7)}, .tolerance = 1e-5, .flops = 140},
    {.name = "long_rows", .inputs = {ONS_F32_IN(0, 0.01, 3, 333), ONS_F32(3, 333)}, .tolerance = 1e-5, .flops = 3996},
    {.name = "axis_1",
     .inputs = {ONS_F32_IN(0, 1, 2, 5, 3, 29), ONS_F32(2, 5, 3, 29)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 1e-5,
     .flops = 3480},
    {.name = "flatten",
     .inputs = {ONS_F32_IN(0, 1, 2, 3, 4), ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("onstage_flatten", 1)},
     .tolerance = 1e-5,
     .flops = 96},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-5, .flops = 4},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4)}, .flops = 0},
    {.name = "attention",
     .inputs = {ONS_F32_IN(0, 0.02, 16, 4, 128, 128), ONS_F32(16, 4, 128, 128)},
     .tolerance = 1e-5,
     .flops = 4194304,
     .benchmark = true},
    {.name = NULL},
};
