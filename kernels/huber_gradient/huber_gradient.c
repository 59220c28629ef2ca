/* Gradient of the Huber loss: x - t cut off at ±delta × cotangent ÷ counted targets. */
#include "kernels/common/pointwise_loss.h"

/* NaN stays NaN. */
static inline float limited(float d, float delta) {
    float above = d < -delta ? -delta : d;
    return above > delta ? delta : above;
}

/* Difference, two comparisons and a product. */
ONS_POINTWISE_LOSS_GRADIENT_RULES(huber_gradient, 4, (fmin(fmax(x - t, -parameter), parameter)))

ONS_POINTWISE_LOSS_GRADIENT_KERNEL(huber_gradient, (limited(x - t, parameter)))

static const ons_case huber_gradient_cases[] = {
    ONS_POINTWISE_LOSS_GRADIENT_CASES(4, -1, ONS_SET_FLOAT("delta", 0.4)),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(huber_gradient, "HuberGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("delta", 1)), ONS_INFER(ons_pointwise_loss_gradient_infer),
                    ONS_COST(huber_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(huber_gradient_reference),
                    ONS_CPU_KERNEL(ons_pointwise_loss_prepare, huber_gradient_run),
                    ONS_CUDA_KERNEL(ons_pointwise_loss_prepare, ons_cuda_huber_gradient), huber_gradient_cases);
