/* ReduceL2: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/reduction/reduction.h"

const ons_case ons_cases_reduce_l2[] = {
    ONS_REDUCTION_CASES(ONS_F32, 1e-5, -9, false),
    {.name = NULL},
};
