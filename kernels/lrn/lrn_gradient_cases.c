/* LRNGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_lrn_gradient[] = {
    {.name = "plane",
     .inputs = {ONS_F32(2, 7, 3, 5), ONS_F32(2, 7, 3, 5)},
     .settings = {ONS_SET_INT("size", 3), ONS_SET_FLOAT("alpha", 1)},
     .tolerance = 1e-5,
     .flops = 3780},
    {.name = "even_size",
     .inputs = {ONS_F32(1, 6, 17), ONS_F32(1, 6, 17)},
     .settings = {ONS_SET_INT("size", 4), ONS_SET_FLOAT("alpha", 1), ONS_SET_FLOAT("beta", 0.6)},
     .tolerance = 1e-5,
     .flops = 2142},
    {.name = "threads",
     .inputs = {ONS_F32(3, 16, 21, 23), ONS_F32(3, 16, 21, 23)},
     .settings = {ONS_SET_INT("size", 5), ONS_SET_FLOAT("alpha", 1)},
     .tolerance = 1e-5,
     .flops = 556416},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4), ONS_F32(0, 3, 4)}, .settings = {ONS_SET_INT("size", 3)}, .flops = 0},
    {.name = "alexnet",
     .inputs = {ONS_F32(16, 64, 55, 55), ONS_F32(16, 64, 55, 55)},
     .settings = {ONS_SET_INT("size", 5)},
     .tolerance = 1e-5,
     .flops = 74342400,
     .benchmark = true},
    {.name = NULL},
};
