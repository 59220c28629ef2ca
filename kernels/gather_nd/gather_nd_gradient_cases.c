/* GatherNDGradient: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/gather_nd/gather_nd_gradient_node.h"

#define OF_DATA(BATCH_DIMS, ...) .settings = {ONS_SET_INT("batch_dims", BATCH_DIMS), ONS_SET_INTS("shape", __VA_ARGS__)}

const ons_case ons_cases_gather_nd_gradient[] = {
    {.name = "elements",
     .inputs = {ONS_F32(9), ONS_RANDOM(ONS_INT64, -3, 2, 9, 2)},
     OF_DATA(0, 3, 4),
     .tolerance = 1e-6,
     .flops = 9},
    {.name = "slices",
     .inputs = {ONS_F32(2, 4, 3, 5), ONS_RANDOM(ONS_INT32, 0, 2, 2, 4, 1)},
     OF_DATA(0, 3, 3, 5),
     .tolerance = 1e-6,
     .flops = 120},
    {.name = "batches",
     .inputs = {ONS_F32(2, 5, 4), ONS_RANDOM(ONS_INT64, 0, 2, 2, 5, 1)},
     OF_DATA(1, 2, 3, 4),
     .tolerance = 1e-6,
     .flops = 40},
    {.name = "threads",
     .inputs = {ONS_F32(4, 20, 900), ONS_RANDOM(ONS_INT64, 0, 8, 4, 20, 1)},
     OF_DATA(1, 4, 9, 900),
     .tolerance = 1e-6,
     .flops = 72000},
    {.name = "frequent", /* one slice holds most places */
     .inputs = {ONS_F32(2, 400, 3),
                {.dtype = ONS_INT64,
                 .shape = ONS_DIMS(2, 400, 2),
                 .value_count = 16,
                 .values = {0, 4, 0, 4, 1, 2, 0, 4, 0, 4, -1, 0, 0, 4, 0, 4}}},
     OF_DATA(1, 2, 3, 5, 3),
     .tolerance = 1e-5,
     .flops = 2400},
    {.name = "misfit",
     .inputs = {ONS_F32(5, 4), ONS_RANDOM(ONS_INT64, 0, 2, 6, 1)},
     OF_DATA(0, 3, 4),
     .error = "looked up"},
    {.name = NULL},
};
