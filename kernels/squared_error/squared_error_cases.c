/* SquaredError: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/losses/pointwise_loss.h"

const ons_case ons_cases_squared_error[] = {
    ONS_POINTWISE_LOSS_CASES(3, -1, ONS_NO_SETTING),
    {.name = NULL},
};
