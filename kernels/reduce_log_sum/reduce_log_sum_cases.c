/* ReduceLogSum: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/reduction/reduction.h"

#define POSITIVE(...) ONS_F32_IN(0.1, 2, __VA_ARGS__)

const ons_case ons_cases_reduce_log_sum[] = {
    ONS_REDUCTION_CASES(POSITIVE, 1e-5, 1, false),
    {.name = NULL},
};
