/* Adagrad: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

const ons_case ons_cases_adagrad[] = {
    {.name = "matrix",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1, 5, 7)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 350},
    {.name = "factor",
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_F32_IN(0.1, 1), ONS_F32_IN(0.01, 1, 37)},
     .settings = {ONS_SET_FLOAT("eps", 1e-3), ONS_SET_FLOAT("weight_decay", 0.1)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 370},
    {.name = "rank0",
     .inputs = {ONS_F32(), ONS_F32(), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 10},
    {.name = "threads",
     .inputs = {ONS_F32(9, 5003), ONS_F32(9, 5003), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1, 9, 5003)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 450270},
    {.name = "large",
     .inputs = {ONS_F32(2048, 2048), ONS_F32(2048, 2048), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1, 2048, 2048)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 41943040,
     .benchmark = true},
    {.name = NULL},
};
