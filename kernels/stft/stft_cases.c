/* STFT: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_stft[] = {
    {.name = "window", .inputs = {ONS_F32(2, 20, 1), ONS_I64_SCALAR(4), ONS_F32(8)}, .flops = -1},
    {.name = "length", .inputs = {ONS_F32(2, 20), ONS_I64_SCALAR(3), ONS_LEFT_OUT, ONS_I64_SCALAR(7)}, .flops = -1},
    {.name = "complex",
     .inputs = {ONS_F32(2, 20, 2), ONS_I64_SCALAR(5), ONS_F32(6), ONS_I64_SCALAR(6)},
     .settings = {ONS_SET_INT("onesided", 0)},
     .flops = -1},
    {.name = "neither", .inputs = {ONS_F32(2, 20), ONS_I64_SCALAR(3)}, .error = "window or a frame"},
    {.name = "too_long", .inputs = {ONS_F32(2, 5), ONS_I64_SCALAR(3), ONS_F32(8)}, .error = "do not fit"},
    {.name = "no_step", .inputs = {ONS_F32(2, 20), ONS_I64_SCALAR(0), ONS_F32(8)}, .error = "every 0"},
    {.name = "differ",
     .inputs = {ONS_F32(2, 20), ONS_I64_SCALAR(1), ONS_F32(8), ONS_I64_SCALAR(7)},
     .error = "8 elements"},
    {.name = NULL},
};
