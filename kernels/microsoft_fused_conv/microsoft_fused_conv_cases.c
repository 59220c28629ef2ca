/* FusedConv: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_microsoft_fused_conv[] = {
    {.name = "relu",
     .inputs = {ONS_F32(2, 3, 5, 5), ONS_F32(4, 3, 3, 3), ONS_F32(4)},
     .settings = {ONS_SET_STRING("activation", "Relu"), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .flops = -1},
    {.name = "sum",
     .inputs = {ONS_F32(1, 4, 5, 5), ONS_F32(4, 2, 3, 3), ONS_F32(4), ONS_F32(1, 4, 2, 2)},
     .settings = {ONS_SET_STRING("activation", "Tanh"), ONS_SET_INT("group", 2), ONS_SET_INTS("strides", 2, 2)},
     .flops = -1},
    {.name = "none", .inputs = {ONS_F32(1, 2, 4), ONS_F32(3, 2, 3)}, .flops = -1},
    {.name = "sum_shape",
     .inputs = {ONS_F32(1, 2, 4), ONS_F32(3, 2, 3), ONS_LEFT_OUT, ONS_F32(1, 3, 3)},
     .error = "shape of the result"},
    {.name = "unknown",
     .inputs = {ONS_F32(1, 2, 4), ONS_F32(3, 2, 3)},
     .settings = {ONS_SET_STRING("activation", "Mish")},
     .error = "Mish"},
    {.name = NULL},
};
