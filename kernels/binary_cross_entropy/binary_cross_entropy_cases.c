/* BinaryCrossEntropy: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/losses/pointwise_loss.h"

const ons_case ons_cases_binary_cross_entropy[] = {
    ONS_POINTWISE_LOSS_CASES(7, 0, ONS_NO_SETTING),
    {.name = NULL},
};
