/* Size: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_size[] = {
    {.name = "matrix", .inputs = {ONS_F32(2, 3)}},
    {.name = "rank0", .inputs = {ONS_F32()}},
    {.name = "empty", .inputs = {ONS_F32(0, 3)}},
    {.name = NULL},
};
