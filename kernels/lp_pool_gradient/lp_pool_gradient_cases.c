/* LpPoolGradient: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

const ons_case ons_cases_lp_pool_gradient[] = {
    {.name = "halves",
     .inputs = {ONS_F32(2, 3, 3, 4), ONS_F32(2, 3, 6, 8), ONS_F32_IN(0.5, 2, 2, 3, 3, 4)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-6,
     .flops = 288},
    {.name = "overlap",
     .inputs = {ONS_F32(2, 17, 4, 5), ONS_F32(2, 17, 7, 9), ONS_F32_IN(0.5, 2, 2, 17, 4, 5)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-5,
     .flops = 6120},
    {.name = "order_1",
     .inputs = {ONS_F32(1, 3, 5, 7), ONS_F32(1, 3, 7, 9), ONS_F32(1, 3, 5, 7)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INT("p", 1)},
     .tolerance = 1e-6,
     .flops = 945},
    {.name = "order_3_of_nothing",
     .inputs = {ONS_F32(1, 3, 4), ONS_F32_IN(0, 0, 1, 3, 5), ONS_F32_IN(0, 0, 1, 3, 4)},
     .settings = {ONS_SET_INTS("kernel_shape", 2), ONS_SET_INT("p", 3)},
     .flops = 24},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_F32(16, 64, 112, 112), ONS_F32_IN(0.5, 2, 16, 64, 56, 56)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-6,
     .flops = 12845056,
     .benchmark = true},
    {.name = NULL},
};
