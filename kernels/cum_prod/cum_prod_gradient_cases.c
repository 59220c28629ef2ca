/* CumProdGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_cum_prod_gradient[] = {
    {.name = "plain", .inputs = {ONS_F32(3, 7), ONS_I64_SCALAR(1), ONS_F32(3, 7)}, .tolerance = 1e-6, .flops = 105},
    {.name = "exclusive",
     .inputs = {ONS_F32(7, 3), ONS_I64_SCALAR(0), ONS_F32(7, 3)},
     .settings = {ONS_SET_INT("exclusive", 1)},
     .tolerance = 1e-6,
     .flops = 105},
    {.name = "reverse",
     .inputs = {ONS_F32(7, 40), ONS_I64_SCALAR(0), ONS_F32(7, 40)},
     .settings = {ONS_SET_INT("exclusive", 1), ONS_SET_INT("reverse", 1)},
     .tolerance = 1e-6,
     .flops = 1400},
    {.name = "threads",
     .inputs = {ONS_F32(30, 20, 40), ONS_I64_SCALAR(1), ONS_F32(30, 20, 40)},
     .tolerance = 1e-6,
     .flops = 120000},
    {.name = "misfit", .inputs = {ONS_F32(3, 7), ONS_I64_SCALAR(1), ONS_F32(3, 6)}, .error = "differ"},
    {.name = NULL},
};
