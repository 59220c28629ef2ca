/* SimplifiedLayerNormalization: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_simplified_layer_normalization[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7), ONS_F32(7)}, .outputs = 2, .tolerance = 1e-5, .flops = 140},
    {.name = "axis",
     .inputs = {ONS_F32(2, 3, 17), ONS_F32(3, 17)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 1e-5,
     .flops = 408},
    {.name = "large",
     .inputs = {ONS_F32(4, 128, 1024), ONS_F32(1024)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 2097152,
     .benchmark = true},
    {.name = "scale_too_short", .inputs = {ONS_F32(2, 7), ONS_F32(6)}, .error = "scale"},
    {.name = NULL},
};
