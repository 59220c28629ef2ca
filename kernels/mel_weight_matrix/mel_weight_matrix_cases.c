/* MelWeightMatrix: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_mel_weight_matrix[] = {
    {.name = "spectrum",
     .inputs = {ONS_I64_SCALAR(8), ONS_I64_SCALAR(16), ONS_I64_SCALAR(8192), ONS_F32_SCALAR(0), ONS_F32_SCALAR(4096)},
     .tolerance = 1e-6,
     .flops = 72},
    {.name = "wide",
     .inputs = {ONS_I64_SCALAR(20), ONS_I64_SCALAR(400), ONS_I64_SCALAR(16000), ONS_F32_SCALAR(60),
                ONS_F32_SCALAR(7600)},
     .settings = {ONS_SET_INT("output_datatype", ONS_FLOAT64)},
     .flops = 4020},
    {.name = "length",
     .inputs = {ONS_I64_SCALAR(8), ONS_I64_SCALAR(0), ONS_I64_SCALAR(8192), ONS_F32_SCALAR(0), ONS_F32_SCALAR(4096)},
     .error = "length"},
    {.name = NULL},
};
