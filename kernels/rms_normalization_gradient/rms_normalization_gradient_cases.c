/* RMSNormalizationGradient: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

const ons_case ons_cases_rms_normalization_gradient[] = {
    {.name = "rows",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7), ONS_F32_IN(0.5, 2, 5, 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 315},
    {.name = "input_alone",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7), ONS_F32_IN(0.5, 2, 5, 1)},
     .tolerance = 1e-5,
     .flops = 315},
    {.name = "two_axes",
     .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(2, 3, 4, 5), ONS_F32(4, 5), ONS_F32_IN(0.5, 2, 2, 3, 1, 1)},
     .settings = {ONS_SET_INT("axis", 2)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 1080},
    {.name = "threads",
     .inputs = {ONS_F32(301, 100), ONS_F32(301, 100), ONS_F32(100), ONS_F32_IN(0.5, 2, 301, 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 270900},
    {.name = "empty", .inputs = {ONS_F32(0, 7), ONS_F32(0, 7), ONS_F32(7), ONS_F32(0, 1)}, .outputs = 2, .flops = 0},
    {.name = "llama",
     .inputs = {ONS_F32(4, 128, 1024), ONS_F32(4, 128, 1024), ONS_F32(1024), ONS_F32_IN(0.5, 2, 4, 128, 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 4718592,
     .benchmark = true},
    {.name = NULL},
};
