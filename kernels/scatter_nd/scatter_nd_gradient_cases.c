/* ScatterNDGradient: cases for tests and benchmarks. */
#include "kernels/case.h"

#define REDUCED(NAME) .settings = {ONS_SET_STRING("reduction", NAME)}

#define THIRDS(...)                                                                                                    \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(__VA_ARGS__), .value_count = 3, .values = { 0.5, 2, 0 }                \
    }

const ons_case ons_cases_scatter_nd_gradient[] = {
    {.name = "none", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, -5, 4, 3, 1)}},
    {.name = "mul",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 2, 6, 1), THIRDS(3, 4), THIRDS(6, 4), ONS_F32(3, 4)},
     REDUCED("mul"),
     .outputs = 2,
     .tolerance = 1e-6},
    {.name = "max",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT32, -3, 2, 6, 2), THIRDS(3, 4), THIRDS(6), THIRDS(3, 4)},
     REDUCED("max"),
     .outputs = 2,
     .tolerance = 1e-6},
    {.name = "threads",
     .inputs = {ONS_F32(4, 900), ONS_RANDOM(ONS_INT64, 0, 3, 20, 1), THIRDS(4, 900), THIRDS(20, 900), THIRDS(4, 900)},
     REDUCED("min"),
     .outputs = 2,
     .tolerance = 1e-6},
    {.name = "no_data", .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, 0, 4, 3, 1)}, REDUCED("max"), .error = "fit"},
    {.name = NULL},
};
