/* LinearGeluGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_linear_gelu_gradient[] = {
    {.name = "matrix",
     .inputs = {ONS_F32(5, 7), ONS_F32(7, 8), ONS_F32_IN(-4, 4, 5, 8)},
     .tolerance = 1e-5,
     .flops = 600},
    {.name = "tokens",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(16, 5), ONS_F32_IN(-4, 4, 6, 16)},
     .settings = {ONS_SET_INT("transpose", 1)},
     .tolerance = 1e-5,
     .flops = 1056},
    {.name = "odd",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(3, 5), ONS_F32_IN(-4, 4, 2, 3, 3)},
     .settings = {ONS_SET_INT("transpose", 1)},
     .tolerance = 1e-5,
     .flops = 198},
    /* Not as far as that a cube overflows: there cuBLASLt's slope is NaN, as PyTorch's is. */
    {.name = "far",
     .inputs =
         {ONS_F32(3, 4),
          ONS_F32(4, 8),
          {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 8), .value_count = 6, .values = {0, 1e10, -1e10, 6, -6, 1e-30}}},
     .tolerance = 1e-5,
     .flops = 216},
    {.name = "empty", .inputs = {ONS_F32(2, 0), ONS_F32(0, 8), ONS_F32(2, 8)}, .flops = 16},
    {.name = "no_rows", .inputs = {ONS_F32(0, 3), ONS_F32(3, 8), ONS_F32(0, 8)}, .flops = 0},
    {.name = "gpt_mlp",
     .inputs = {ONS_F32(16, 128, 128), ONS_F32(512, 128), ONS_F32_IN(-3, 3, 16, 128, 512)},
     .settings = {ONS_SET_INT("transpose", 1)},
     .tolerance = 1e-5,
     .flops = 269484032,
     .benchmark = true},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(7, 8), ONS_F32(5, 7)}, .error = "elements"},
    {.name = NULL},
};
