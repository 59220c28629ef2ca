/* RoiAlignGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

#define THREE_REGIONS                                                                                                  \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 4), .value_count = 12, .values = {                                  \
            0.3,                                                                                                       \
            1.2,                                                                                                       \
            6.4,                                                                                                       \
            7.1,                                                                                                       \
            -3,                                                                                                        \
            2.5,                                                                                                       \
            4.7,                                                                                                       \
            11,                                                                                                        \
            5,                                                                                                         \
            5,                                                                                                         \
            5.2,                                                                                                       \
            5.1                                                                                                        \
        }                                                                                                              \
    }

#define THEIR_IMAGES                                                                                                   \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = { 1, 0, 1 }                              \
    }

#define BINS(HEIGHT, WIDTH) ONS_SET_INT("output_height", HEIGHT), ONS_SET_INT("output_width", WIDTH)

const ons_case ons_cases_roi_align_gradient[] = {
    {.name = "mean",
     .inputs = {ONS_F32(3, 9, 3, 2), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 9, 9, 8)},
     .tolerance = 2e-6,
     .flops = 1296},
    {.name = "maximum",
     .inputs = {ONS_F32(3, 9, 3, 2), THREE_REGIONS, THEIR_IMAGES, ONS_F32(2, 9, 9, 8)},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 9, 9, 8), ONS_SET_STRING("mode", "max")},
     .tolerance = 2e-6,
     .flops = 1296},
    {.name = "no_images",
     .inputs = {ONS_F32(3, 9, 3, 2), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 9, 9, 8), ONS_SET_STRING("mode", "max")},
     .error = "needs the images"},
    {.name = "misfit",
     .inputs = {ONS_F32(3, 9, 3, 3), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 9, 9, 8)},
     .error = "shape of the result"},
    {.name = "large",
     .inputs = {ONS_F32(128, 256, 7, 7), ONS_F32_IN(0, 50, 128, 4), ONS_RANDOM(ONS_INT64, 0, 1, 128)},
     .settings = {BINS(7, 7), ONS_SET_INT("sampling_ratio", 2), ONS_SET_INTS("onstage_shape", 2, 256, 50, 68)},
     .tolerance = 1e-5,
     .flops = 51380224,
     .benchmark = true},
    {.name = NULL},
};
