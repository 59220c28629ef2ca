/* SwiGLUGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_swi_glu_gradient[] = {
    {.name = "both",
     .inputs = {ONS_F32(5, 7), ONS_F32_IN(-6, 6, 5, 7), ONS_F32(5, 7)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 35},
    {.name = "gate",
     .inputs = {ONS_F32(5, 7), ONS_F32_IN(-6, 6, 5, 7), ONS_F32(5, 7)},
     .settings = {ONS_SET_FLOAT("alpha", 1.702)},
     .tolerance = 2e-6,
     .flops = 35},
    {.name = "threads",
     .inputs = {ONS_F32(3, 16, 33, 35), ONS_F32(3, 16, 33, 35), ONS_F32(3, 16, 33, 35)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 55440},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(0, 4), ONS_F32(0, 4)}, .outputs = 2, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(16, 128, 2048), ONS_F32(16, 128, 2048), ONS_F32(16, 128, 2048)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 4194304,
     .benchmark = true},
    {.name = "misfit", .inputs = {ONS_F32(2, 3), ONS_F32(2, 3), ONS_F32(3)}, .error = "differ"},
    {.name = NULL},
};
