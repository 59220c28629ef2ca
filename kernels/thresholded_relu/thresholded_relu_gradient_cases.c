/* ThresholdedReluGradient: cases for tests and benchmarks. */
#include "kernels/common/elementwise/cases.h"

const ons_case ons_cases_thresholded_relu_gradient[] = {
    ONS_PAIR_CASES(-3, 3, 0),
    {.name = "alpha",
     .inputs = {ONS_F32(7, 9), ONS_F32(7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", -0.25)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};
