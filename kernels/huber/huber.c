/* Huber loss: Σ (d²/2 where |d| ≤ delta, else delta (|d| - delta/2)) ÷ counted targets, d = x - t. */
#include "kernels/common/cuda_rows.h"
#include "kernels/common/pointwise_loss.h"

static double huber_of(double d, double delta) { return fabs(d) <= delta ? d * d / 2 : delta * (fabs(d) - delta / 2); }

static inline float huber_of_float(float d, float delta) {
    float magnitude = ons_absolute(d), square = 0.5f * d * d, line = delta * (magnitude - 0.5f * delta);
    return magnitude <= delta ? square : line;
}

/* Difference, magnitude, square, comparison and sum. */
ONS_POINTWISE_LOSS_RULES(huber, 5, huber_of(x - t, parameter))

ONS_POINTWISE_LOSS_KERNEL(huber, huber_of_float(x - t, parameter))

static const ons_case huber_cases[] = {
    ONS_POINTWISE_LOSS_CASES(5, -1, ONS_SET_FLOAT("delta", 0.4)),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(huber, "Huber", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("delta", 1)), ONS_INFER(ons_pointwise_loss_infer),
                    ONS_COST(huber_cost), ONS_GRADIENT_RULE(huber_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_ROLES(ONS_ROLE_HUBER, 0, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(huber_reference),
                    ONS_CPU_KERNEL(ons_pointwise_loss_prepare, huber_run),
                    ONS_CUDA_KERNEL(ons_cuda_pointwise_loss_prepare, ons_cuda_huber), huber_cases);
