/* HuberGradient: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/losses/pointwise_loss.h"

const ons_case ons_cases_huber_gradient[] = {
    ONS_POINTWISE_LOSS_GRADIENT_CASES(4, -1, ONS_SET_FLOAT("delta", 0.4)),
    {.name = NULL},
};
