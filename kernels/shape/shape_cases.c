/* Shape: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_shape[] = {
    {.name = "all", .inputs = {ONS_F32(2, 3, 5)}},
    {.name = "rank0", .inputs = {ONS_F32()}},
    {.name = "from", .inputs = {ONS_F32(2, 3, 5)}, .settings = {ONS_SET_INT("start", -2)}},
    {.name = "range", .inputs = {ONS_F32(2, 3, 5)}, .settings = {ONS_SET_INT("start", 1), ONS_SET_INT("end", -1)}},
    {.name = "crossed", .inputs = {ONS_F32(2, 3, 5)}, .settings = {ONS_SET_INT("start", 2), ONS_SET_INT("end", 1)}},
    {.name = NULL},
};
