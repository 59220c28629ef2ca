/* LpNormalization: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_lp_normalization[] = {
    {.name = "rows", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 105},
    {.name = "order_1", .inputs = {ONS_F32(5, 37)}, .settings = {ONS_SET_INT("p", 1)}, .tolerance = 1e-6, .flops = 555},
    {.name = "columns",
     .inputs = {ONS_F32(2, 9, 5)},
     .settings = {ONS_SET_INT("axis", 1)},
     .tolerance = 1e-6,
     .flops = 270},
    {.name = "columns_1",
     .inputs = {ONS_F32(9, 71)},
     .settings = {ONS_SET_INT("axis", 0), ONS_SET_INT("p", 1)},
     .tolerance = 1e-6,
     .flops = 1917},
    {.name = "from_end",
     .inputs = {ONS_F32(2, 3, 4, 5)},
     .settings = {ONS_SET_INT("axis", -2)},
     .tolerance = 1e-6,
     .flops = 360},
    {.name = "zeros", .inputs = {ONS_F32_IN(0, 0, 3, 5)}, .flops = 45, .no_gradient = true},
    {.name = "threads", .inputs = {ONS_F32(301, 100)}, .tolerance = 1e-6, .flops = 90300, .no_gradient = true},
    {.name = "empty", .inputs = {ONS_F32(0, 7)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(2048, 512)}, .tolerance = 1e-6, .flops = 3145728, .benchmark = true},
    {.name = "order_3", .inputs = {ONS_F32(3, 4)}, .settings = {ONS_SET_INT("p", 3)}, .error = "p is 3"},
    {.name = "outside", .inputs = {ONS_F32(3, 4)}, .settings = {ONS_SET_INT("axis", 2)}, .error = "axis 2"},
    {.name = NULL},
};
