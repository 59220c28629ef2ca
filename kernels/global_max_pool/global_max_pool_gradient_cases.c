/* GlobalMaxPoolGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_global_max_pool_gradient[] = {
    {.name = "equal",
     .inputs = {ONS_F32(2, 3, 1, 1),
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(2, 3, 2, 2), .value_count = 4, .values = {1, 3, 3, 2}},
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(2, 3, 1, 1), .value_count = 1, .values = {3}}},
     .flops = 24,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32(16, 512, 1, 1), ONS_F32(16, 512, 14, 14), ONS_F32(16, 512, 1, 1)},
     .flops = 1605632,
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};
