/* GlobalLpPool: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_global_lp_pool[] = {
    {.name = "plane", .inputs = {ONS_F32(2, 5, 7, 3)}, .tolerance = 1e-6, .flops = 420},
    {.name = "order_1",
     .inputs = {ONS_F32(2, 5, 9)},
     .settings = {ONS_SET_INT("p", 1)},
     .tolerance = 1e-6,
     .flops = 180},
    {.name = "order_3",
     .inputs = {ONS_F32_IN(0.1, 1, 2, 3, 2, 3, 4)},
     .settings = {ONS_SET_INT("p", 3)},
     .tolerance = 1e-6,
     .flops = 288},
    {.name = "no_positions", .inputs = {ONS_F32(4, 3)}, .tolerance = 1e-6, .flops = 24},
    {.name = "threads", .inputs = {ONS_F32(3, 37, 21, 19)}, .tolerance = 1e-5, .flops = 88578},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(16, 512, 14, 14)}, .tolerance = 1e-5, .flops = 3211264, .benchmark = true},
    {.name = "order_0", .inputs = {ONS_F32(2, 3, 4)}, .settings = {ONS_SET_INT("p", 0)}, .error = "p is 0"},
    {.name = NULL},
};
