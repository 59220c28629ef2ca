/* GlobalAveragePoolGradient: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

const ons_case ons_cases_global_average_pool_gradient[] = {
    {.name = "plane",
     .inputs = {ONS_F32(2, 5, 1, 1)},
     .settings = {ONS_SET_INTS("input_shape", 2, 5, 7, 3)},
     .tolerance = 1e-6,
     .flops = 210,
     .no_gradient = true},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 5, 1)},
     .settings = {ONS_SET_INTS("input_shape", 2, 5, 9)},
     .tolerance = 1e-6,
     .flops = 90,
     .no_gradient = true},
    {.name = "no_positions",
     .inputs = {ONS_F32(4, 3)},
     .settings = {ONS_SET_INTS("input_shape", 4, 3)},
     .tolerance = 1e-6,
     .flops = 12,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32(16, 512, 1, 1)},
     .settings = {ONS_SET_INTS("input_shape", 16, 512, 14, 14)},
     .tolerance = 1e-6,
     .flops = 1605632,
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};
