/* SquaredErrorGradient: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/losses/pointwise_loss.h"

const ons_case ons_cases_squared_error_gradient[] = {
    ONS_POINTWISE_LOSS_GRADIENT_CASES(3, -1, ONS_NO_SETTING),
    {.name = NULL},
};
