/* Trilu: cases for tests and benchmarks. */
#include "kernels/case.h"

#define LOWER .settings = {ONS_SET_INT("upper", 0)}

const ons_case ons_cases_trilu[] = {
    {.name = "upper", .inputs = {ONS_F32(4, 5)}},
    {.name = "lower", .inputs = {ONS_F32(3, 5, 4)}, LOWER},
    {.name = "above", .inputs = {ONS_F32(5, 5), ONS_I64_SCALAR(2)}},
    {.name = "below", .inputs = {ONS_F32(5, 6), ONS_I64_SCALAR(-2)}, LOWER},
    {.name = "far", .inputs = {ONS_F32(3, 4), ONS_I64_SCALAR(99)}},
    {.name = "by_data", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, -2, 2)}},
    {.name = "booleans", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 6, 6)}, LOWER},
    {.name = "threads", .inputs = {ONS_F32(9, 50, 60)}, LOWER},
    {.name = "vector", .inputs = {ONS_F32(4)}, .error = "needs matrices"},
    {.name = "large", .inputs = {ONS_F32(96, 256, 256)}, LOWER, .benchmark = true},
    {.name = NULL},
};
