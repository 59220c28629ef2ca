/* Col2ImGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_col2im_gradient[] = {
    {.name = "overlap", .inputs = {ONS_F32(2, 2, 6, 7), ONS_I64(6, 7), ONS_I64(3, 3)}},
    {.name = "pads",
     .inputs = {ONS_F32(1, 2, 5, 5), ONS_I64(5, 5), ONS_I64(3, 3)},
     .settings = {ONS_SET_INTS("pads", 0, 3, 4, 2), ONS_SET_INTS("strides", 1, 2), ONS_SET_INTS("dilations", 2, 1)}},
    {.name = "one_dim", .inputs = {ONS_F32(2, 3, 9), ONS_I64(9), ONS_I64(4)}, .settings = {ONS_SET_INTS("strides", 2)}},
    {.name = "threads", .inputs = {ONS_F32(2, 8, 20, 20), ONS_I64(20, 20), ONS_I64(3, 3)}},
    {.name = "misfit", .inputs = {ONS_F32(1, 2, 5, 5), ONS_I64(5, 6), ONS_I64(3, 3)}, .error = "is not the image"},
    {.name = "large",
     .inputs = {ONS_F32(8, 64, 56, 56), ONS_I64(56, 56), ONS_I64(3, 3)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .benchmark = true},
    {.name = NULL},
};
