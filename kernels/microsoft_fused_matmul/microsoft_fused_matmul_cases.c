/* FusedMatMul: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_microsoft_fused_matmul[] = {
    {.name = "plain", .inputs = {ONS_F32(5, 7), ONS_F32(7, 3)}, .flops = 210},
    {.name = "transposed",
     .inputs = {ONS_F32(7, 5), ONS_F32(3, 7)},
     .settings = {ONS_SET_INT("transA", 1), ONS_SET_INT("transB", 1), ONS_SET_FLOAT("alpha", 0.125)},
     .flops = 210},
    {.name = "keys",
     .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(2, 3, 6, 5)},
     .settings = {ONS_SET_INT("transB", 1), ONS_SET_FLOAT("alpha", 0.5)},
     .flops = 1440},
    {.name = "batch_of_a",
     .inputs = {ONS_F32(4, 2, 3, 5), ONS_F32(2, 3, 5, 6)},
     .settings = {ONS_SET_INT("transBatchA", 1)},
     .flops = 1440},
    {.name = "batch_of_both",
     .inputs = {ONS_F32(5, 2, 3, 4), ONS_F32(5, 2, 3, 6)},
     .settings = {ONS_SET_INT("transBatchA", 1), ONS_SET_INT("transBatchB", 1), ONS_SET_INT("transA", 1)},
     .flops = 1440},
    {.name = "vector", .inputs = {ONS_F32(7), ONS_F32(3, 7)}, .settings = {ONS_SET_INT("transB", 1)}, .flops = 42},
    {.name = "empty", .inputs = {ONS_F32(0, 7), ONS_F32(7, 3)}, .flops = 0},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(7, 3)}, .settings = {ONS_SET_INT("transA", 1)}, .error = "5"},
    {.name = NULL},
};
