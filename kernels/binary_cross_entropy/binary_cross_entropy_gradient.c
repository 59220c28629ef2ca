/* Gradient of binary cross entropy with logits: (sigmoid(x) - t) × cotangent ÷ counted targets. */
#include "kernels/losses/pointwise_loss.h"

/* Exponential, sum, quotient, difference and product. */
ONS_POINTWISE_LOSS_GRADIENT_RULES(binary_cross_entropy_gradient, 5, (1 / (1 + exp(-x)) - t))

ONS_DEFINE_OPERATOR(binary_cross_entropy_gradient, "BinaryCrossEntropyGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(ons_pointwise_loss_gradient_infer),
                    ONS_COST(binary_cross_entropy_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(binary_cross_entropy_gradient_reference));
