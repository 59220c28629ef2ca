/* LpNormalizationGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_lp_normalization_gradient[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7)}, .tolerance = 1e-5, .flops = 245},
    {.name = "order_1",
     .inputs = {ONS_F32(5, 37), ONS_F32(5, 37)},
     .settings = {ONS_SET_INT("p", 1)},
     .tolerance = 1e-5,
     .flops = 1295},
    {.name = "columns",
     .inputs = {ONS_F32(2, 9, 71), ONS_F32(2, 9, 71)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 1e-5,
     .flops = 8946},
    {.name = "columns_1",
     .inputs = {ONS_F32(2, 9, 5), ONS_F32(2, 9, 5)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("p", 1)},
     .tolerance = 1e-5,
     .flops = 630},
    {.name = "zeros", .inputs = {ONS_F32(3, 5), ONS_F32_IN(0, 0, 3, 5)}, .flops = 105},
    {.name = "large",
     .inputs = {ONS_F32(2048, 512), ONS_F32(2048, 512)},
     .tolerance = 1e-5,
     .flops = 7340032,
     .benchmark = true},
    {.name = NULL},
};
