/* TensorScatter: cases for tests and benchmarks. */
#include "kernels/case.h"

#define AT(...)                                                                                                        \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(2), .value_count = 2, .values = { __VA_ARGS__ }                          \
    }

const ons_case ons_cases_tensor_scatter[] = {
    {.name = "linear", .inputs = {ONS_F32(2, 3, 5, 4), ONS_F32(2, 3, 2, 4), AT(1, 3)}},
    {.name = "circular",
     .inputs = {ONS_F32(2, 3, 5, 4), ONS_F32(2, 3, 2, 4), AT(4, 0)},
     .settings = {ONS_SET_STRING("mode", "circular")}},
    {.name = "rank_3", .inputs = {ONS_F32(2, 5, 4), ONS_F32(2, 2, 4)}, .settings = {ONS_SET_INT("axis", 1)}},
    {.name = "samples", .inputs = {ONS_F32(2, 5), ONS_F32(1, 5)}, .error = "samples"},
    {.name = "misfit", .inputs = {ONS_F32(2, 5, 4), ONS_F32(2, 6, 4)}, .error = "do not fit"},
    {.name = "mode",
     .inputs = {ONS_F32(2, 5, 4), ONS_F32(2, 2, 4)},
     .settings = {ONS_SET_STRING("mode", "square")},
     .error = "mode"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(1, 4, 2),
                ONS_F32(1, 2, 2),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1), .value_count = 1, .values = {9}}},
     .flops = -1,
     .fault = "cache"},
    {.name = NULL},
};
