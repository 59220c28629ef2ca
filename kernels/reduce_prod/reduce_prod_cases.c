/* ReduceProd: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/reduction/reduction.h"

const ons_case ons_cases_reduce_prod[] = {
    ONS_REDUCTION_CASES(ONS_F32, 1e-5, -9, true),
    {.name = NULL},
};
