/* ResizeGradient: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/resampling/resample.h"

#define OF_SHAPE(...) ONS_SET_INTS("onstage_shape", __VA_ARGS__)

#define LINEAR ONS_SET_STRING("mode", "linear")

#define CUBIC ONS_SET_STRING("mode", "cubic")

const ons_case ons_cases_resize_gradient[] = {
    {.name = "nearest",
     .inputs = {ONS_F32(2, 3, 40, 42), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {OF_SHAPE(2, 3, 20, 21)},
     .tolerance = 1e-6},
    {.name = "linear",
     .inputs = {ONS_F32(2, 3, 40, 70), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {LINEAR, OF_SHAPE(2, 3, 20, 35)},
     .tolerance = 1e-6,
     .flops = 134400},
    {.name = "sizes",
     .inputs = {ONS_F32(1, 17, 9, 11), ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_I64(1, 17, 9, 11)},
     .settings = {LINEAR, OF_SHAPE(1, 17, 5, 23)},
     .tolerance = 1e-6,
     .flops = 13464},
    {.name = "cubic",
     .inputs = {ONS_F32(1, 2, 15, 15), ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_I64(1, 2, 15, 15)},
     .settings = {CUBIC, OF_SHAPE(1, 2, 5, 23)},
     .tolerance = 2e-6,
     .flops = 7200},
    {.name = "three_dims",
     .inputs = {ONS_F32(1, 2, 6, 7, 8), ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_I64(1, 2, 6, 7, 8)},
     .settings = {LINEAR, OF_SHAPE(1, 2, 3, 4, 5)},
     .tolerance = 1e-6,
     .flops = 8064},
    {.name = "misfit",
     .inputs = {ONS_F32(2, 3, 40, 42), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {OF_SHAPE(2, 3, 20, 20)},
     .error = "shape of the result"},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 112, 112), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {LINEAR, OF_SHAPE(16, 64, 56, 56)},
     .tolerance = 1e-6,
     .flops = 102760448,
     .benchmark = true},
    {.name = "large_nearest",
     .inputs = {ONS_F32(16, 64, 112, 112), ONS_LEFT_OUT, ONS_KNOWN_FLOATS(1, 1, 2, 2)},
     .settings = {OF_SHAPE(16, 64, 56, 56)},
     .tolerance = 1e-6,
     .benchmark = true},
    {.name = NULL},
};
