/* If: cases for tests and benchmarks. */
#include "graph/graph.h"
#include "kernels/case.h"

const ons_case ons_cases_if[] = {
    {.name = "by_data",
     .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1)},
     .settings = {{"then_branch", {.kind = ONS_ATTRIBUTE_GRAPH}}, {"else_branch", {.kind = ONS_ATTRIBUTE_GRAPH}}},
     .error = "depends on data"},
    {.name = NULL},
};
