/* Scan: cases for tests and benchmarks. */
#include "graph/graph.h"
#include "kernels/case.h"

const ons_case ons_cases_scan[] = {
    {.name = "alone",
     .inputs = {ONS_F32(3, 2)},
     .settings = {{"body", {.kind = ONS_ATTRIBUTE_GRAPH}}, ONS_SET_INT("num_scan_inputs", 1)},
     .error = "unrolled"},
    {.name = NULL},
};
