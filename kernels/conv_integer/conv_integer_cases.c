/* ConvInteger: cases for tests and benchmarks. */
#include "kernels/case.h"

#define BYTES(...) ONS_RANDOM(ONS_UINT8, 0, 255, __VA_ARGS__)

const ons_case ons_cases_conv_integer[] = {
    {.name = "plain", .inputs = {BYTES(1, 2, 4, 5), BYTES(3, 2, 2, 2)}, .flops = 576},
    {.name = "zero_points",
     .inputs = {BYTES(2, 2, 4, 5), BYTES(3, 2, 3, 3), BYTES(1), BYTES(3)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("strides", 2, 2)},
     .flops = 840},
    {.name = "signed",
     .inputs = {ONS_RANDOM(ONS_INT8, -128, 127, 1, 4, 6), ONS_RANDOM(ONS_INT8, -128, 127, 4, 2, 3), ONS_LEFT_OUT,
                ONS_RANDOM(ONS_INT8, -9, 9, 1)},
     .settings = {ONS_SET_INT("group", 2)},
     .flops = 192},
    {.name = "empty", .inputs = {BYTES(0, 2, 4, 5), BYTES(3, 2, 2, 2)}, .flops = 0},
    {.name = "floats", .inputs = {ONS_F32(1, 2, 4, 5), ONS_F32(3, 2, 2, 2)}, .error = "uint8"},
    {.name = "too_many_zero_points", .inputs = {BYTES(1, 2, 4, 5), BYTES(3, 2, 2, 2), BYTES(2)}, .error = "zero point"},
    {.name = NULL},
};
