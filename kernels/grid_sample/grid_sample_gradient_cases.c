/* GridSampleGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

#define IN_MODE(MODE, PADDING, ALIGN)                                                                                  \
    .settings = {ONS_SET_STRING("mode", MODE), ONS_SET_STRING("padding_mode", PADDING),                                \
                 ONS_SET_INT("align_corners", ALIGN)}

const ons_case ons_cases_grid_sample_gradient[] = {
    {.name = "linear",
     .inputs = {ONS_F32(2, 3, 4, 7), ONS_F32(2, 3, 5, 6), ONS_F32_IN(-1.4, 1.4, 2, 4, 7, 2)},
     .outputs = 2,
     .tolerance = 5e-6,
     .flops = 2688},
    {.name = "tensor_alone",
     .inputs = {ONS_F32(1, 3, 4, 7), ONS_F32(1, 3, 5, 6), ONS_F32_IN(-1.4, 1.4, 1, 4, 7, 2)},
     IN_MODE("nearest", "border", 1),
     .tolerance = 2e-6,
     .flops = 336},
    {.name = "cubic",
     .inputs = {ONS_F32(1, 3, 4, 7), ONS_F32(1, 3, 5, 6), ONS_F32_IN(-3, 3, 1, 4, 7, 2)},
     IN_MODE("cubic", "reflection", 0),
     .outputs = 2,
     .tolerance = 5e-6,
     .flops = 5376},
    {.name = "volume",
     .inputs = {ONS_F32(1, 2, 2, 3, 4), ONS_F32(1, 2, 3, 4, 5), ONS_F32_IN(-1.2, 1.2, 1, 2, 3, 4, 3)},
     .outputs = 2,
     .tolerance = 5e-6,
     .flops = 1536},
    {.name = "threads",
     .inputs = {ONS_F32(1, 9, 17, 23), ONS_F32(1, 9, 20, 21), ONS_F32_IN(-1.1, 1.1, 1, 17, 23, 2)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 56304},
    {.name = "misfit",
     .inputs = {ONS_F32(1, 2, 3, 3), ONS_F32(1, 2, 3, 3), ONS_F32(1, 1, 4, 2)},
     .error = "type of the result"},
    {.name = "large",
     .inputs = {ONS_F32(8, 64, 56, 56), ONS_F32(8, 64, 56, 56), ONS_F32(8, 56, 56, 2)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 25690112,
     .benchmark = true},
    {.name = NULL},
};
