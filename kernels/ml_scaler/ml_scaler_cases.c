/* Scaler: cases for tests and benchmarks. */
#include "graph/graph.h"
#include "kernels/case.h"

#define FLOATS(NAME, ...)                                                                                              \
    {                                                                                                                  \
        NAME, {                                                                                                        \
            .kind = ONS_ATTRIBUTE_FLOATS, .count = sizeof((double[]){__VA_ARGS__}) / sizeof(double),                   \
            .floats = (const double[]) {                                                                               \
                __VA_ARGS__                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }

const ons_case ons_cases_ml_scaler[] = {
    {.name = "columns",
     .inputs = {ONS_F32(5, 3)},
     .settings = {FLOATS("offset", 1, -2, 0.5), FLOATS("scale", 2, 3, 0.1)},
     .flops = 15},
    {.name = "one", .inputs = {ONS_F32(5, 3)}, .settings = {FLOATS("scale", 0.1)}, .flops = 15},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 5, 3)}, .settings = {FLOATS("offset", 1)}, .flops = 15},
    {.name = "empty", .inputs = {ONS_F32(0, 3)}, .settings = {FLOATS("scale", 0.1)}, .flops = 0},
    {.name = "misfit", .inputs = {ONS_F32(5, 3)}, .settings = {FLOATS("scale", 1, 2)}, .error = "columns"},
    {.name = NULL},
};
