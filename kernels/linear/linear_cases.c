/* Linear: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_linear[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7), ONS_F32(7, 3), ONS_F32(3)}, .tolerance = 1e-5, .flops = 225},
    {.name = "tokens", .inputs = {ONS_F32(2, 3, 5), ONS_F32(5, 4), ONS_F32(4)}, .tolerance = 1e-5, .flops = 264},
    {.name = "transposed",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(4, 5), ONS_F32(4)},
     .settings = {ONS_SET_INT("transpose", 1)},
     .tolerance = 1e-5,
     .flops = 264},
    {.name = "empty", .inputs = {ONS_F32(2, 0), ONS_F32(0, 4), ONS_F32(4)}, .flops = 8},
    {.name = "gpt_mlp",
     .inputs = {ONS_F32(16, 128, 128), ONS_F32(128, 512), ONS_F32(512)},
     .tolerance = 1e-5,
     .flops = 269484032,
     .benchmark = true},
    {.name = "gpt_mlp_back",
     .inputs = {ONS_F32(16, 128, 512), ONS_F32(512, 128), ONS_F32(128)},
     .tolerance = 1e-5,
     .flops = 268697600,
     .benchmark = true},
    {.name = NULL},
};
