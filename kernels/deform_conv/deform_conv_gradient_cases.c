/* DeformConvGradient: cases for tests and benchmarks. */
#include <oneapi/dnnl/dnnl.h>

#include "kernels/case.h"

const ons_case ons_cases_deform_conv_gradient[] = {
    {.name = "offset",
     .inputs = {ONS_F32(2, 4, 3, 5), ONS_F32(2, 3, 5, 6), ONS_F32(4, 3, 3, 2), ONS_F32_IN(-1.5, 1.5, 2, 12, 3, 5)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 15120},
    {.name = "mask",
     .inputs = {ONS_F32(2, 4, 3, 3), ONS_F32(2, 4, 5, 5), ONS_F32(4, 2, 3, 3), ONS_F32_IN(-1, 1, 2, 36, 3, 3),
                ONS_F32_IN(0, 1, 2, 18, 3, 3)},
     .settings = {ONS_SET_INT("group", 2), ONS_SET_INT("offset_group", 2), ONS_SET_INTS("pads", 1, 1, 1, 1),
                  ONS_SET_INTS("strides", 2, 2)},
     .outputs = 4,
     .tolerance = 1e-5,
     .flops = 12960},
    {.name = "empty",
     .inputs = {ONS_F32(0, 3, 3, 3), ONS_F32(0, 2, 4, 4), ONS_F32(3, 2, 2, 2), ONS_F32(0, 8, 3, 3)},
     .outputs = 3,
     .flops = 0},
    {.name = "resnet",
     .inputs = {ONS_F32(4, 128, 28, 28), ONS_F32(4, 128, 28, 28), ONS_F32(128, 128, 3, 3), ONS_F32(4, 18, 28, 28),
                ONS_F32_IN(0, 1, 4, 9, 28, 28)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .outputs = 4,
     .tolerance = 1e-3,
     .flops = 1893040128,
     .benchmark = true},
    {.name = NULL},
};
