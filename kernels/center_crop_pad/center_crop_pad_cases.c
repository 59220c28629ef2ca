/* CenterCropPad: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_center_crop_pad[] = {
    {.name = "crop", .inputs = {ONS_F32(9, 8), ONS_I64(4, 5)}},
    {.name = "pad", .inputs = {ONS_F32(4, 5), ONS_I64(9, 8)}},
    {.name = "both", .inputs = {ONS_F32(5, 4, 3), ONS_I64(2, 7, 3)}},
    {.name = "axes", .inputs = {ONS_F32(5, 4, 3), ONS_I64(2, 6)}, .settings = {ONS_SET_INTS("axes", -1, 0)}},
    {.name = "to_nothing", .inputs = {ONS_F32(5), ONS_I64(0)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT32, -9, 9, 5), ONS_I64(8)}},
    {.name = "misfit", .inputs = {ONS_F32(5, 4), ONS_I64(3)}, .error = "sizes for"},
    {.name = "negative", .inputs = {ONS_F32(5), ONS_I64(-3)}, .error = "a size of"},
    {.name = "twice",
     .inputs = {ONS_F32(5, 4), ONS_I64(3, 3)},
     .settings = {ONS_SET_INTS("axes", 1, -1)},
     .error = "listed twice"},
    {.name = NULL},
};
