/* EyeLike: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_eye_like[] = {
    {.name = "square", .inputs = {ONS_F32(4, 4)}},
    {.name = "above", .inputs = {ONS_F32(3, 5)}, .settings = {ONS_SET_INT("k", 2)}},
    {.name = "integers",
     .inputs = {ONS_F32(3, 2)},
     .settings = {ONS_SET_INT("k", -1), ONS_SET_INT("dtype", ONS_INT64)}},
    {.name = "vector", .inputs = {ONS_F32(3)}, .error = "needs a matrix"},
    {.name = NULL},
};
