/* Adam: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/optimizers/optimizer.h"

const ons_case ons_cases_adam[] = {
    ONS_ADAM_CASES,
    {.name = NULL},
};
