/* Flatten: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_flatten[] = {
    {.name = "images", .inputs = {ONS_F32(3, 4, 2, 5)}},
    {.name = "axis0", .inputs = {ONS_F32(3, 4)}, .settings = {ONS_SET_INT("axis", 0)}},
    {.name = "negative", .inputs = {ONS_F32(3, 4, 5)}, .settings = {ONS_SET_INT("axis", -1)}},
    {.name = "at_end", .inputs = {ONS_F32(3, 4)}, .settings = {ONS_SET_INT("axis", 2)}},
    {.name = "rank0", .inputs = {ONS_F32()}, .settings = {ONS_SET_INT("axis", 0)}},
    {.name = "outside", .inputs = {ONS_F32(3, 4)}, .settings = {ONS_SET_INT("axis", 3)}, .error = "axis 3"},
    {.name = NULL},
};
