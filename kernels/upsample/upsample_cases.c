/* Upsample: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/resampling/resample.h"

#define AS_IT_WAS                                                                                                      \
    ONS_SET_STRING("coordinate_transformation_mode", "asymmetric"), ONS_SET_STRING("nearest_mode", "onstage_simple")

const ons_case ons_cases_upsample[] = {
    {.name = "nearest",
     .inputs = {ONS_F32(1, 2, 3, 4), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 3)},
     .settings = {AS_IT_WAS}},
    {.name = "linear",
     .inputs = {ONS_F32(1, 2, 3, 4), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {AS_IT_WAS, ONS_SET_STRING("mode", "linear")},
     .tolerance = 1e-6,
     .flops = 768},
    {.name = "misfit",
     .inputs = {ONS_F32(1, 2, 3, 4), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 2)},
     .settings = {AS_IT_WAS},
     .error = "one for each axis"},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {AS_IT_WAS},
     .benchmark = true},
    {.name = NULL},
};
