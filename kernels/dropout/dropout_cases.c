/* Dropout: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_dropout[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .flops = 0},
    {.name = "ratio_and_mode",
     .inputs = {ONS_F32(5, 7),
                ONS_F32_SCALAR(0.3),
                {.dtype = ONS_BOOL, .value_count = 1, .values = {0}, .constant = true}},
     .flops = 0},
    {.name = "float_mask",
     .inputs = {ONS_F32(5, 7)},
     .settings = {ONS_SET_INT("onstage_float_mask", 1)},
     .outputs = 2,
     .flops = 0,
     .no_gradient = true},
    {.name = "rank0", .inputs = {ONS_F32()}, .flops = 0},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = NULL},
};
