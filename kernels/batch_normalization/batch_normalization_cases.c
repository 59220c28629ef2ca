/* BatchNormalization: cases for tests and benchmarks. */
#include "kernels/case.h"

#define VECTORS(C) ONS_F32(C), ONS_F32(C), ONS_F32(C), ONS_F32_IN(0.2, 2, C)

const ons_case ons_cases_batch_normalization[] = {
    {.name = "plane", .inputs = {ONS_F32(2, 5, 3, 4), VECTORS(5)}, .tolerance = 1e-5, .flops = 240},
    {.name = "epsilon",
     .inputs = {ONS_F32(2, 5, 7), VECTORS(5)},
     .settings = {ONS_SET_FLOAT("epsilon", 0.01)},
     .tolerance = 1e-5,
     .flops = 140},
    {.name = "matrix", .inputs = {ONS_F32(9, 6), VECTORS(6)}, .tolerance = 1e-5, .flops = 108},
    {.name = "volume", .inputs = {ONS_F32(2, 3, 2, 3, 4), VECTORS(3)}, .tolerance = 1e-5, .flops = 288},
    {.name = "training",
     .inputs = {ONS_F32(3, 5, 3, 4), VECTORS(5)},
     .settings = {ONS_SET_INT("training_mode", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1080,
     .no_gradient = true},
    {.name = "threads", .inputs = {ONS_F32(4, 33, 17, 19), VECTORS(33)}, .tolerance = 1e-5, .flops = 85272},
    {.name = "empty", .inputs = {ONS_F32(0, 5, 3, 4), VECTORS(5)}, .flops = 0},
    {.name = "no_channels", .inputs = {ONS_F32(2, 0, 3, 4), VECTORS(0)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56), VECTORS(64)},
     .tolerance = 1e-5,
     .flops = 6422528,
     .benchmark = true},
    {.name = "channels_differ", .inputs = {ONS_F32(2, 5, 3, 4), VECTORS(4)}, .error = "channel"},
    {.name = NULL},
};
