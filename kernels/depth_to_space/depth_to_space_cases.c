/* DepthToSpace: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_depth_to_space[] = {
    {.name = "dcr", .inputs = {ONS_F32(2, 12, 3, 4)}, .settings = {ONS_SET_INT("blocksize", 2)}},
    {.name = "crd",
     .inputs = {ONS_F32(2, 18, 2, 3)},
     .settings = {ONS_SET_INT("blocksize", 3), ONS_SET_STRING("mode", "CRD")}},
    {.name = "unknown",
     .inputs = {ONS_F32(2, 12, 3, 4)},
     .settings = {ONS_SET_INT("blocksize", 2), ONS_SET_STRING("mode", "RCD")},
     .error = "unknown mode"},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 1, 4, 2, 2)},
     .settings = {ONS_SET_INT("blocksize", 2)}},
    {.name = "empty", .inputs = {ONS_F32(2, 4, 0, 3)}, .settings = {ONS_SET_INT("blocksize", 2)}},
    {.name = "odd", .inputs = {ONS_F32(2, 6, 3, 4)}, .settings = {ONS_SET_INT("blocksize", 2)}, .error = "divide"},
    {.name = "large",
     .inputs = {ONS_F32(8, 64, 64, 64)},
     .settings = {ONS_SET_INT("blocksize", 2), ONS_SET_STRING("mode", "CRD")},
     .benchmark = true},
    {.name = NULL},
};
