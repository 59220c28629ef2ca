/* Huber: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/losses/pointwise_loss.h"

const ons_case ons_cases_huber[] = {
    ONS_POINTWISE_LOSS_CASES(5, -1, ONS_SET_FLOAT("delta", 0.4)),
    {.name = NULL},
};
