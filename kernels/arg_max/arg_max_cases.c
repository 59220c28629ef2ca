/* ArgMax: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/common/extreme_index.h"

const ons_case ons_cases_arg_max[] = {
    ONS_EXTREME_INDEX_CASES,
    {.name = NULL},
};
