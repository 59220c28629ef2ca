/* Gradient: cases for tests and benchmarks. */
#include "graph/graph.h"
#include "kernels/case.h"

#define XS(...)                                                                                                        \
    {                                                                                                                  \
        "xs", {                                                                                                        \
            .kind = ONS_ATTRIBUTE_STRINGS, .count = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),            \
            .strings = (const char *const[]) {                                                                         \
                __VA_ARGS__                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }

const ons_case ons_cases_gradient[] = {
    {.name = "two",
     .inputs = {ONS_F32(2, 3), ONS_F32()},
     .settings = {XS("a", "b"), ONS_SET_STRING("y", "c")},
     .outputs = 2,
     .flops = 0},
    {.name = "names", .inputs = {ONS_F32(2)}, .settings = {XS("a", "b"), ONS_SET_STRING("y", "c")}, .error = "names 2"},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 2)},
     .settings = {XS("a"), ONS_SET_STRING("y", "c")},
     .error = "float"},
    {.name = NULL},
};
