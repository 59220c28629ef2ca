/* SpaceToDepth: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_space_to_depth[] = {
    {.name = "blocks", .inputs = {ONS_F32(2, 3, 4, 6)}, .settings = {ONS_SET_INT("blocksize", 2)}},
    {.name = "crd",
     .inputs = {ONS_F32(1, 2, 6, 3)},
     .settings = {ONS_SET_INT("blocksize", 3), ONS_SET_STRING("mode", "CRD")}},
    {.name = "odd", .inputs = {ONS_F32(2, 6, 3, 4)}, .settings = {ONS_SET_INT("blocksize", 2)}, .error = "divides"},
    {.name = NULL},
};
