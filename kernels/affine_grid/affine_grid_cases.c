/* AffineGrid: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_affine_grid[] = {
    {.name = "image", .inputs = {ONS_F32(2, 2, 3), ONS_I64(2, 3, 5, 6)}, .tolerance = 1e-6, .flops = 720},
    {.name = "corners",
     .inputs = {ONS_F32(2, 2, 3), ONS_I64(2, 3, 5, 1)},
     .settings = {ONS_SET_INT("align_corners", 1)},
     .tolerance = 1e-6,
     .flops = 120},
    {.name = "volume", .inputs = {ONS_F32(1, 3, 4), ONS_I64(1, 1, 2, 3, 4)}, .tolerance = 1e-6, .flops = 576},
    {.name = "empty", .inputs = {ONS_F32(0, 2, 3), ONS_I64(0, 3, 5, 6)}, .flops = 0},
    {.name = "misfit", .inputs = {ONS_F32(2, 2, 3), ONS_I64(1, 3, 5, 6)}, .error = "does not fit"},
    {.name = "line", .inputs = {ONS_F32(2, 2, 3), ONS_I64(2, 3, 5)}, .error = "4 or 5"},
    {.name = NULL},
};
