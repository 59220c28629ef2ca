/* DFT: what its files share. */
#ifndef ONSTAGE_KERNELS_DFT_DFT_H
#define ONSTAGE_KERNELS_DFT_DFT_H

#include "graph/operator.h"

static const ons_case ons_cases_dft[] = {
    {.name = "default_axis", .inputs = {ONS_F32(3, 10, 1)}, .flops = -1},
    {.name = "complex", .inputs = {ONS_F32(3, 8, 2, 2), ONS_LEFT_OUT, ONS_I64_SCALAR(1)}, .flops = -1},
    {.name = "inverse",
     .inputs = {ONS_F32(3, 7, 2), ONS_LEFT_OUT, ONS_I64_SCALAR(1)},
     .settings = {ONS_SET_INT("inverse", 1)},
     .flops = -1},
    {.name = "onesided",
     .inputs = {ONS_F32(3, 10, 1), ONS_I64_SCALAR(12), ONS_I64_SCALAR(-2)},
     .settings = {ONS_SET_INT("onesided", 1)},
     .flops = -1},
    {.name = "back_to_real",
     .inputs = {ONS_F32(3, 5, 2), ONS_I64_SCALAR(8)},
     .settings = {ONS_SET_INT("onesided", 1), ONS_SET_INT("inverse", 1)},
     .flops = -1},
    {.name = "back_to_odd",
     .inputs = {ONS_F32(3, 5, 2), ONS_I64_SCALAR(9)},
     .settings = {ONS_SET_INT("onesided", 1), ONS_SET_INT("inverse", 1)},
     .flops = -1},
    {.name = "complex_onesided",
     .inputs = {ONS_F32(3, 8, 2)},
     .settings = {ONS_SET_INT("onesided", 1)},
     .error = "one-sided"},
    {.name = "last_axis", .inputs = {ONS_F32(3, 8, 2), ONS_LEFT_OUT, ONS_I64_SCALAR(-1)}, .error = "last axis"},
    {.name = "no_parts", .inputs = {ONS_F32(3, 8)}, .error = "last axis"},
    {.name = "length", .inputs = {ONS_F32(3, 8, 1), ONS_I64_SCALAR(0)}, .error = "length"},
    {.name = NULL},
};

#endif
