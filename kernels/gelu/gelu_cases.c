/* Gelu: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_gelu[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 8, NAN, INFINITY, 0, 50, -50, 5, -5, 1e-30),
    {.name = "tanh",
     .inputs = {ONS_F32_IN(-4, 4, 35, 37)},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 1295},
    {.name = "tanh_edges",
     .inputs =
         {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {NAN, INFINITY, 0, 50, -50, 1e-30}}},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 6,
     .no_gradient = true},
    {.name = "tanh_large",
     .inputs = {ONS_F32_IN(-3, 3, 64, 128, 1024)},
     .settings = {ONS_SET_STRING("approximate", "tanh")},
     .tolerance = 2e-6,
     .flops = 8388608,
     .benchmark = true},
    {.name = "gpt", .inputs = {ONS_F32_IN(-3, 3, 32, 64, 512)}, .tolerance = 2e-6, .flops = 1048576, .benchmark = true},
    {.name = "unknown",
     .inputs = {ONS_F32(3)},
     .settings = {ONS_SET_STRING("approximate", "sigmoid")},
     .error = "approximate"},
    {.name = NULL},
};
