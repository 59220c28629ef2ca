/* Loop: cases for tests and benchmarks. */
#include "graph/graph.h"
#include "kernels/case.h"

const ons_case ons_cases_loop[] = {
    {.name = "by_data",
     .inputs = {ONS_RANDOM(ONS_INT64, 0, 9)},
     .settings = {{"body", {.kind = ONS_ATTRIBUTE_GRAPH}}},
     .error = "depends on data"},
    {.name = NULL},
};
