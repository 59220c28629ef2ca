/* NonMaxSuppression: cases for tests and benchmarks. */
#include "kernels/case.h"

#define KNOWN_FLOATS(SHAPE, ...)                                                                                       \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = SHAPE, .value_count = sizeof((double[]){__VA_ARGS__}) / sizeof(double),         \
        .values = {__VA_ARGS__}, .constant = true                                                                      \
    }

#define SHAPE_OF_BOXES                                                                                                 \
    {                                                                                                                  \
        3, { 1, 4, 4 }                                                                                                 \
    }

#define SHAPE_OF_SCORES                                                                                                \
    {                                                                                                                  \
        3, { 1, 1, 4 }                                                                                                 \
    }

#define FOUR_BOXES KNOWN_FLOATS(SHAPE_OF_BOXES, 0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 10, 1, 11, 0, 10.1, 1, 11.1)

#define FOUR_SCORES KNOWN_FLOATS(SHAPE_OF_SCORES, 0.9, 0.75, 0.6, 0.95)

const ons_case ons_cases_non_max_suppression[] = {
    {.name = "some",
     .inputs = {FOUR_BOXES, FOUR_SCORES, ONS_I64_SCALAR(3), ONS_F32_SCALAR(0.5), ONS_F32_SCALAR(0)},
     .flops = 0},
    {.name = "limited", .inputs = {FOUR_BOXES, FOUR_SCORES, ONS_I64_SCALAR(1), ONS_F32_SCALAR(0.5)}, .flops = 0},
    {.name = "by_center",
     .inputs = {FOUR_BOXES, FOUR_SCORES, ONS_I64_SCALAR(9), ONS_F32_SCALAR(0.5)},
     .settings = {ONS_SET_INT("center_point_box", 1)},
     .flops = 0},
    {.name = "none", .inputs = {FOUR_BOXES, FOUR_SCORES}, .flops = 0},
    {.name = "from_data", .inputs = {ONS_F32(1, 4, 4), ONS_F32(1, 1, 4)}, .error = "depends on data"},
    {.name = "misfit", .inputs = {FOUR_BOXES, ONS_F32(1, 1, 3)}, .error = "do not fit"},
    {.name = NULL},
};
