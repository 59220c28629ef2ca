/* SkipLayerNormalization: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_microsoft_skip_layer_normalization[] = {
    {.name = "all",
     .inputs = {ONS_F32(2, 3, 8), ONS_F32(2, 3, 8), ONS_F32(8), ONS_F32(8), ONS_F32(8)},
     .settings = {ONS_SET_FLOAT("epsilon", 1e-3)},
     .flops = 48},
    {.name = "broadcast",
     .inputs = {ONS_F32(2, 3, 8), ONS_F32(3, 8), ONS_F32(8)},
     .settings = {ONS_SET_FLOAT("epsilon", 1e-5)},
     .flops = 48},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 8), ONS_F32(3, 8), ONS_F32(8)}, .flops = 0},
    {.name = "misfit", .inputs = {ONS_F32(2, 3, 8), ONS_F32(2, 8), ONS_F32(8)}, .error = "skip"},
    {.name = "scale", .inputs = {ONS_F32(3, 8), ONS_F32(3, 8), ONS_F32(7)}, .error = "scale"},
    {.name = "bias", .inputs = {ONS_F32(3, 8), ONS_F32(3, 8), ONS_F32(8), ONS_LEFT_OUT, ONS_F32(1)}, .error = "bias"},
    {.name = NULL},
};
