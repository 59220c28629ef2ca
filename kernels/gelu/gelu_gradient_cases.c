/* GeluGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_gelu_gradient[] = {
    ONS_PAIR_CASES(-4, 4, 2e-6),
    {.name = "far",
     .inputs = {ONS_F32(6),
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {0, 50, -50, 6, -6, 1e-30}}},
     .tolerance = 2e-6,
     .flops = 6},
    {.name = "tanh",
     .inputs = {ONS_F32(35, 37), ONS_F32_IN(-4, 4, 35, 37)},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 1295},
    {.name = "tanh_far",
     .inputs =
         {ONS_F32(6),
          {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {0, 1e20, -1e20, 6, -6, 1e-30}}},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 6},
    {.name = "tanh_large",
     .inputs = {ONS_F32(64, 128, 1024), ONS_F32_IN(-3, 3, 64, 128, 1024)},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 8388608,
     .benchmark = true},
    {.name = NULL},
};
