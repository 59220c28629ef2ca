/* RoiAlign: cases for tests and benchmarks. */
#include <math.h>

#include "kernels/case.h"

#define CORNERS_OF(...)                                                                                                \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 4), .value_count = 12, .values = { __VA_ARGS__ }                    \
    }

#define THREE_REGIONS CORNERS_OF(0.3, 1.2, 6.4, 7.1, -3, 2.5, 4.7, 11, 5, 5, 5.2, 5.1)

#define THEIR_IMAGES                                                                                                   \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = { 1, 0, 1 }                              \
    }

#define BINS(HEIGHT, WIDTH) ONS_SET_INT("output_height", HEIGHT), ONS_SET_INT("output_width", WIDTH)

const ons_case ons_cases_roi_align[] = {
    {.name = "mean",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2)},
     .tolerance = 1e-6,
     .flops = 432},
    {.name = "ratio",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INT("sampling_ratio", 2), ONS_SET_FLOAT("spatial_scale", 0.5)},
     .tolerance = 1e-6,
     .flops = 1728},
    {.name = "output_half_pixel",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(2, 2), ONS_SET_STRING("coordinate_transformation_mode", "output_half_pixel")},
     .tolerance = 1e-6,
     .flops = 288},
    {.name = "maximum",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_STRING("mode", "max"), ONS_SET_INT("sampling_ratio", 2)},
     .tolerance = 1e-6,
     .flops = 1728},
    {.name = "threads",
     .inputs = {ONS_F32(2, 40, 12, 13), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(7, 7), ONS_SET_INT("sampling_ratio", 2)},
     .tolerance = 1e-6,
     .flops = 188160},
    {.name = "nowhere",
     .inputs = {ONS_F32(2, 1, 4, 4), CORNERS_OF(NAN, 0, 1, 1, -1e30, -1e30, 1e30, 1e30, 2, 2, 1, 1), THEIR_IMAGES},
     .settings = {ONS_SET_INT("sampling_ratio", 1)},
     .tolerance = 1e-6,
     .flops = 24,
     .no_gradient = true},
    {.name = "none",
     .inputs = {ONS_F32(2, 3, 9, 8), ONS_F32(0, 4), {.dtype = ONS_INT64, .shape = {1, {0}}}},
     .flops = 0},
    {.name = "misfit",
     .inputs = {ONS_F32(2, 3, 9, 8), ONS_F32(2, 4), ONS_RANDOM(ONS_INT64, 0, 1, 3)},
     .error = "do not fit"},
    {.name = "unknown",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {ONS_SET_STRING("mode", "sum")},
     .error = "unknown mode"},
    {.name = "no_bins",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(0, 2)},
     .error = "bins"},
    {.name = "large",
     .inputs = {ONS_F32(2, 256, 50, 68), ONS_F32_IN(0, 50, 128, 4), ONS_RANDOM(ONS_INT64, 0, 1, 128)},
     .settings = {BINS(7, 7), ONS_SET_INT("sampling_ratio", 2)},
     .tolerance = 1e-6,
     .flops = 51380224,
     .benchmark = true},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(1, 1, 4, 4),
                ONS_F32(1, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1), .value_count = 1, .values = {3}}},
     .flops = -1,
     .fault = "image"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 1, 1, 4, 4),
                ONS_RANDOM(ONS_FLOAT64, -1, 1, 1, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1), .value_count = 1, .values = {3}}},
     .flops = -1,
     .fault = "image"},
    {.name = NULL},
};
