/* GlobalLpPoolGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_global_lp_pool_gradient[] = {
    {.name = "plane",
     .inputs = {ONS_F32(2, 5, 1, 1), ONS_F32(2, 5, 7, 3), ONS_F32_IN(0.5, 2, 2, 5, 1, 1)},
     .tolerance = 1e-6,
     .flops = 210},
    {.name = "order_1",
     .inputs = {ONS_F32(2, 5, 1), ONS_F32(2, 5, 9), ONS_F32(2, 5, 1)},
     .settings = {ONS_SET_INT("p", 1)},
     .tolerance = 1e-6,
     .flops = 90},
    {.name = "order_4",
     .inputs = {ONS_F32(2, 5, 1), ONS_F32(2, 5, 9), ONS_F32_IN(0.5, 2, 2, 5, 1)},
     .settings = {ONS_SET_INT("p", 4)},
     .tolerance = 1e-5,
     .flops = 90},
    {.name = "nothing",
     .inputs = {ONS_F32(2, 5, 1), ONS_F32_IN(0, 0, 2, 5, 9), ONS_F32_IN(0, 0, 2, 5, 1)},
     .flops = 90},
    {.name = "large",
     .inputs = {ONS_F32(16, 512, 1, 1), ONS_F32(16, 512, 14, 14), ONS_F32_IN(0.5, 2, 16, 512, 1, 1)},
     .tolerance = 1e-6,
     .flops = 1605632,
     .benchmark = true},
    {.name = NULL},
};
