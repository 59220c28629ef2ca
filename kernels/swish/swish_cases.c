/* Swish: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_swish[] = {
    ONS_UNARY_CASES(-6, 6, 2e-6),
    {.name = "alpha",
     .inputs = {ONS_F32_IN(-3, 3, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 1.702)},
     .tolerance = 2e-6,
     .flops = 63},
    ONS_EDGE_CASE("edges", 2e-6, 5, NAN, INFINITY, 0, 200, -80),
    {.name = NULL},
};
