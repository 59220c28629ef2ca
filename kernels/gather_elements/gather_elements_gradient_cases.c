/* GatherElementsGradient: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/gather_elements/gather_elements_gradient_node.h"

#define OF_DATA(AXIS, ...) .settings = {ONS_SET_INT("axis", AXIS), ONS_SET_INTS("shape", __VA_ARGS__)}

const ons_case ons_cases_gather_elements_gradient[] = {
    {.name = "rows",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, -5, 4, 3, 4)},
     OF_DATA(0, 5, 4),
     .tolerance = 1e-6,
     .flops = 12},
    {.name = "columns",
     .inputs = {ONS_F32(3, 9), ONS_RANDOM(ONS_INT32, 0, 5, 3, 9)},
     OF_DATA(-1, 3, 6),
     .tolerance = 1e-6,
     .flops = 27},
    {.name = "fewer",
     .inputs = {ONS_F32(2, 6, 3), ONS_RANDOM(ONS_INT64, 0, 4, 2, 6, 3)},
     OF_DATA(1, 3, 5, 4),
     .tolerance = 1e-6,
     .flops = 36},
    {.name = "none", .inputs = {ONS_F32(0, 4), ONS_RANDOM(ONS_INT64, 0, 4, 0, 4)}, OF_DATA(0, 5, 4)},
    {.name = "threads",
     .inputs = {ONS_F32(40, 33, 70), ONS_RANDOM(ONS_INT64, 0, 9, 40, 33, 70)},
     OF_DATA(1, 40, 10, 70),
     .tolerance = 1e-5,
     .flops = 92400},
    {.name = "misfit",
     .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 0, 4, 2, 4)},
     OF_DATA(0, 5, 4),
     .error = "looked up"},
    {.name = "large",
     .inputs = {ONS_F32(64, 64, 196), ONS_RANDOM(ONS_INT64, 0, 255, 64, 64, 196)},
     OF_DATA(1, 64, 256, 196),
     .flops = 802816,
     .benchmark = true},
    {.name = NULL},
};
