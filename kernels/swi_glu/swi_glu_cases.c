/* SwiGLU: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_swi_glu[] = {
    {.name = "matrix", .inputs = {ONS_F32_IN(-6, 6, 5, 7), ONS_F32(5, 7)}, .tolerance = 2e-6, .flops = 35},
    {.name = "alpha",
     .inputs = {ONS_F32_IN(-6, 6, 5, 7), ONS_F32(5, 7)},
     .settings = {ONS_SET_FLOAT("alpha", 1.702)},
     .tolerance = 2e-6,
     .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 2e-6, .flops = 1},
    {.name = "threads", .inputs = {ONS_F32(3, 16, 33, 35), ONS_F32(3, 16, 33, 35)}, .tolerance = 2e-6, .flops = 55440},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(16, 128, 2048), ONS_F32(16, 128, 2048)},
     .tolerance = 2e-6,
     .flops = 4194304,
     .benchmark = true},
    {.name = "shapes", .inputs = {ONS_F32(2, 3), ONS_F32(3)}, .error = "shape"},
    {.name = NULL},
};
