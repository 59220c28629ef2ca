/* ArgMin: cases for tests and benchmarks. */
#include "kernels/argminmax/argminmax.h"
#include "kernels/case.h"

const ons_case ons_cases_arg_min[] = {
    ONS_ARGMINMAX_CASES,
    {.name = NULL},
};
