/* DropoutTraining: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

const ons_case ons_cases_dropout_training[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .outputs = 2, .tolerance = 1e-6, .flops = 70},
    {.name = "no_mask",
     .inputs = {ONS_F32(5, 7)},
     .settings = {ONS_SET_FLOAT("ratio", 0.1)},
     .tolerance = 1e-6,
     .flops = 70},
    {.name = "seed",
     .inputs = {ONS_F32(5, 7)},
     .settings = {ONS_SET_INT("seed", 7)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 70},
    {.name = "rank0", .inputs = {ONS_F32()}, .outputs = 2, .tolerance = 1e-6, .flops = 2},
    {.name = "threads", .inputs = {ONS_F32(3, 16, 33, 35)}, .outputs = 2, .tolerance = 1e-6, .flops = 110880},
    {.name = "none", .inputs = {ONS_F32(300)}, .settings = {ONS_SET_FLOAT("ratio", 0)}, .outputs = 2, .flops = 600},
    {.name = "all", .inputs = {ONS_F32(300)}, .settings = {ONS_SET_FLOAT("ratio", 1)}, .outputs = 2, .flops = 600},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .outputs = 2, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 128, 1024)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 16777216,
     .benchmark = true},
    {.name = "ratio", .inputs = {ONS_F32(3)}, .settings = {ONS_SET_FLOAT("ratio", -0.1)}, .error = "ratio"},
    {.name = NULL},
};
