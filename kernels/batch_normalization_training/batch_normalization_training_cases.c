/* BatchNormalizationTraining: cases for tests and benchmarks. */
#include "kernels/case.h"

#define VECTORS(C) ONS_F32(C), ONS_F32(C), ONS_F32(C), ONS_F32_IN(0.2, 2, C)
/* Scale and bias by which the result is 0, whatever its type; running statistics of 0. */
#define NO_MAP(C) ONS_F32_IN(0, 0, C), ONS_F32_IN(0, 0, C)
#define BEFORE(C) ONS_F32_IN(0, 0, C), ONS_F32_IN(0, 0, C)

const ons_case ons_cases_batch_normalization_training[] = {
    {.name = "plane", .inputs = {ONS_F32(3, 5, 3, 4), VECTORS(5)}, .outputs = 5, .tolerance = 1e-5, .flops = 1080},
    {.name = "onnx",
     .inputs = {ONS_F32(3, 5, 7), VECTORS(5)},
     .settings = {ONS_SET_INT("unbiased", 0), ONS_SET_FLOAT("epsilon", 0.01), ONS_SET_FLOAT("momentum", 0.6)},
     .outputs = 5,
     .tolerance = 1e-5,
     .flops = 630},
    {.name = "half",
     .inputs = {ONS_RANDOM(ONS_BFLOAT16, -1, 1, 3, 5, 3, 4), VECTORS(5)},
     .outputs = 5,
     .tolerance = 8e-3,
     .flops = 1080,
     .no_gradient = true},
    {.name = "matrix", .inputs = {ONS_F32(9, 6), VECTORS(6)}, .outputs = 5, .tolerance = 1e-5, .flops = 324},
    {.name = "far_mean",
     .inputs = {ONS_F32_IN(99, 101, 8, 3, 5, 5), VECTORS(3)},
     .outputs = 5,
     .tolerance = 3e-5,
     .flops = 3600,
     .no_gradient = true},
    /* A variance of 1e-9 under an epsilon of 1e-5: what comes into the running variance is multiplied by 1e9, so that
     * the tolerance is one of the variance itself. */
    {.name = "variance_below_epsilon",
     .inputs = {ONS_F32_IN(1e-4, 2.1e-4, 8, 12, 5, 6), NO_MAP(12), BEFORE(12)},
     .settings = {ONS_SET_FLOAT("momentum", 1 - 1e9)},
     .outputs = 5,
     .tolerance = 1e-5,
     .flops = 17280,
     .no_gradient = true},
    {.name = "half_variance_below_epsilon",
     .inputs = {ONS_RANDOM(ONS_BFLOAT16, 1e-4, 2.1e-4, 8, 12, 5, 6), NO_MAP(12), BEFORE(12)},
     .settings = {ONS_SET_FLOAT("momentum", 1 - 1e9)},
     .outputs = 5,
     .tolerance = 1e-5,
     .flops = 17280,
     .no_gradient = true},
    {.name = "threads",
     .inputs = {ONS_F32(4, 33, 17, 19), VECTORS(33)},
     .outputs = 5,
     .tolerance = 1e-5,
     .flops = 255816,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56), VECTORS(64)},
     .outputs = 5,
     .tolerance = 1e-5,
     .flops = 19267584,
     .benchmark = true},
    {.name = NULL},
};
