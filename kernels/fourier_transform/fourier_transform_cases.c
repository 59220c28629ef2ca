/* FourierTransform: cases for tests and benchmarks. */
#include "kernels/case.h"

#define TRANSFORM(NAME, LENGTH_VALUE, BACK, SCALE, COUNT, PART_COUNT, TOLERANCE, ...)                                  \
    {                                                                                                                  \
        .name = (NAME), .inputs = {ONS_F32(__VA_ARGS__)},                                                              \
        .settings = {ONS_SET_INT("axis", 1),         ONS_SET_INT("length", LENGTH_VALUE),                              \
                     ONS_SET_INT("backwards", BACK), ONS_SET_INT("scaled", SCALE),                                     \
                     ONS_SET_INT("outputs", COUNT),  ONS_SET_INT("parts", PART_COUNT)},                                \
        .tolerance = (TOLERANCE), .flops = -1                                                                          \
    }

const ons_case ons_cases_fourier_transform[] = {
    TRANSFORM("power_of_two", 8, 0, 0, 8, 2, 1e-6, 2, 8, 1),
    TRANSFORM("complex", 16, 0, 0, 16, 2, 1e-6, 2, 16, 3, 2),
    TRANSFORM("prime", 13, 0, 0, 13, 2, 1e-6, 3, 13, 2),
    TRANSFORM("even", 12, 1, 1, 12, 2, 1e-6, 3, 12, 2, 2),
    TRANSFORM("one_sided", 10, 0, 0, 6, 2, 1e-6, 3, 10, 1),
    TRANSFORM("zeros_behind", 16, 0, 0, 16, 2, 1e-6, 2, 11, 1),
    TRANSFORM("cut", 5, 0, 0, 5, 2, 1e-6, 2, 11, 1),
    TRANSFORM("more_outputs", 5, 1, 0, 9, 1, 1e-6, 2, 5, 2),
    TRANSFORM("one", 1, 0, 0, 1, 2, 1e-6, 2, 1, 2),
    TRANSFORM("threads", 100, 0, 0, 51, 2, 1e-5, 40, 100, 2, 1),
    TRANSFORM("empty", 4, 0, 0, 4, 2, 0, 0, 4, 1),
    {.name = "parts",
     .inputs = {ONS_F32(2, 8, 3)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("length", 8), ONS_SET_INT("outputs", 8), ONS_SET_INT("parts", 2)},
     .error = "last axis"},
    {.name = "length",
     .inputs = {ONS_F32(2, 8, 1)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("length", 0), ONS_SET_INT("outputs", 8), ONS_SET_INT("parts", 2)},
     .error = "length"},
    {.name = "large",
     .inputs = {ONS_F32(64, 4096, 1)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("length", 4096), ONS_SET_INT("outputs", 2049),
                  ONS_SET_INT("parts", 2)},
     .tolerance = 1e-4,
     .flops = -1,
     .benchmark = true},
    {.name = NULL},
};
