/* DynamicQuantizeLinear: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_dynamic_quantize_linear[] = {
    {.name = "matrix", .inputs = {ONS_F32_IN(-3, 5, 5, 7)}, .outputs = 3, .flops = 35, .no_gradient = true},
    {.name = "positive", .inputs = {ONS_F32_IN(2, 5, 37)}, .outputs = 3, .flops = 37, .no_gradient = true},
    {.name = "zeros", .inputs = {ONS_F32_IN(0, 0, 4)}, .outputs = 3, .flops = 4, .no_gradient = true},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .outputs = 3, .flops = 0, .no_gradient = true},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT32, 0, 9, 4)}, .error = "float"},
    {.name = NULL},
};
