/* Gradient of the Huber loss: x - t cut off at ±delta × cotangent ÷ counted targets. */
#include "kernels/losses/pointwise_loss.h"

/* Difference, two comparisons and a product. */
ONS_POINTWISE_LOSS_GRADIENT_RULES(huber_gradient, 4, (fmin(fmax(x - t, -parameter), parameter)))

ONS_DEFINE_OPERATOR(huber_gradient, "HuberGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("delta", 1)), ONS_INFER(ons_pointwise_loss_gradient_infer),
                    ONS_COST(huber_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(huber_gradient_reference));
